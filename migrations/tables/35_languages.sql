-- Languages that their script tells: those of plpy/lexical/words.py; none has a stemmer.

CREATE TEXT SEARCH CONFIGURATION pgblend.ja (COPY = pg_catalog.simple);
COMMENT ON TEXT SEARCH CONFIGURATION pgblend.ja IS
'Japanese, which pgblend writes as pairs of syllables for the parser.';
CREATE TEXT SEARCH CONFIGURATION pgblend.km (COPY = pg_catalog.simple);
COMMENT ON TEXT SEARCH CONFIGURATION pgblend.km IS
'Khmer, which pgblend writes as pairs of syllables for the parser.';
CREATE TEXT SEARCH CONFIGURATION pgblend.ko (COPY = pg_catalog.simple);
COMMENT ON TEXT SEARCH CONFIGURATION pgblend.ko IS
'Korean, which pgblend writes as pairs of syllables for the parser.';
CREATE TEXT SEARCH CONFIGURATION pgblend.lo (COPY = pg_catalog.simple);
COMMENT ON TEXT SEARCH CONFIGURATION pgblend.lo IS
'Lao, which pgblend writes as pairs of syllables for the parser.';
CREATE TEXT SEARCH CONFIGURATION pgblend.my (COPY = pg_catalog.simple);
COMMENT ON TEXT SEARCH CONFIGURATION pgblend.my IS
'Burmese, which pgblend writes as pairs of syllables for the parser.';
CREATE TEXT SEARCH CONFIGURATION pgblend.th (COPY = pg_catalog.simple);
COMMENT ON TEXT SEARCH CONFIGURATION pgblend.th IS
'Thai, which pgblend writes as pairs of syllables for the parser.';
CREATE TEXT SEARCH CONFIGURATION pgblend.zh (COPY = pg_catalog.simple);
COMMENT ON TEXT SEARCH CONFIGURATION pgblend.zh IS
'Chinese, which pgblend writes as pairs of syllables for the parser.';
