-- _document_ages: the ages of documents in days at a time, in the order given.
-- A document's date is the filter field $date: modified_at, else the date that its metadata key
-- "date" gives, else ingested_at. An age below 0 is a date to come. NULL for a document that is not
-- there or that the caller may not see.
CREATE OR REPLACE FUNCTION pgblend._document_ages(
    document_ids bigint[],
    at_time timestamptz DEFAULT now()
)
RETURNS double precision[]
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT array_agg(
        extract(EPOCH FROM at_time - coalesce(
            d.modified_at, pgblend._iso_timestamp(d.metadata ->> 'date'), d.ingested_at
        ))::double precision / 86400
        ORDER BY u.place
    )
    FROM unnest(document_ids) WITH ORDINALITY AS u (document_id, place)
    LEFT JOIN pgblend_data.document AS d ON u.document_id = d.id;
END;
