-- _passage_ages: the ages of passages in days at a time, in the order given.
-- A passage's date is the filter field $date: the date that its own metadata key "date" gives (a
-- message's time), else its document's modified_at, else that of the document's key, else
-- ingested_at. An age below 0 is a date to come. NULL for a passage that is not there or that the
-- caller may not see.
CREATE OR REPLACE FUNCTION pgblend._passage_ages(
    chunk_ids bigint[],
    at_time timestamptz DEFAULT now()
)
RETURNS double precision[]
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT array_agg(
        extract(EPOCH FROM at_time - coalesce(
            pgblend._iso_timestamp(c.metadata ->> 'date'),
            d.modified_at,
            pgblend._iso_timestamp(d.metadata ->> 'date'),
            d.ingested_at
        ))::double precision / 86400
        ORDER BY u.place
    )
    FROM unnest(chunk_ids) WITH ORDINALITY AS u (chunk_id, place)
    LEFT JOIN pgblend_data.chunk AS c ON u.chunk_id = c.id
    LEFT JOIN pgblend_data.document AS d ON c.document_id = d.id;
END;
