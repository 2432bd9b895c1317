-- betree_opclasses.sql: print the operator classes of betree for core's types
--
--   psql -XAtq -f src/tools/betree_opclasses.sql postgres
--
-- The catalog of a fresh cluster is the source: every btree operator class of
-- pg_catalog becomes one of betree with the same name, family, operators,
-- cross-type members and default.  Run it on the oldest version supported
-- (15), so that the text holds no operator that a server may lack, and put
-- its output between the two marks of the betree section of the install
-- script.  Support functions 1, 2 and 4 are carried over; in_range (3) and
-- skip support (6) belong to executor nodes which look at btree alone.  Equal
-- values of three families may differ in their bytes, although a function 4 of
-- theirs said otherwise until PostgreSQL 19 removed it.
SET search_path = pg_catalog;

WITH family AS (
    SELECT f.oid AS family, f.opfname
    FROM pg_opfamily f JOIN pg_am a ON a.oid = f.opfmethod
    WHERE a.amname = 'btree' AND f.opfnamespace = 'pg_catalog'::regnamespace
), class AS (
    -- members belong to the first class of a type, the others are aliases
    SELECT f.*, c.opcname, c.opcintype, c.opcdefault,
           row_number() OVER (PARTITION BY f.family, c.opcintype
                              ORDER BY c.opcdefault DESC, c.opcname) AS nth
    FROM family f JOIN pg_opclass c ON c.opcfamily = f.family
), member AS (
    SELECT f.family, o.amoplefttype AS lefttype, o.amoprighttype AS righttype,
           o.amopstrategy::int AS pos,
           CASE WHEN o.amoplefttype = o.amoprighttype
                THEN format('OPERATOR %s %s', o.amopstrategy, p.oprname)
                ELSE format('OPERATOR %s %s (%s, %s)', o.amopstrategy,
                            p.oprname, format_type(o.amoplefttype, NULL),
                            format_type(o.amoprighttype, NULL))
           END AS item
    FROM family f JOIN pg_amop o ON o.amopfamily = f.family
         JOIN pg_operator p ON p.oid = o.amopopr
    UNION ALL
    SELECT f.family, p.amproclefttype, p.amprocrighttype, 100 + p.amprocnum,
           CASE WHEN p.amproclefttype = p.amprocrighttype
                THEN format('FUNCTION %s %s', p.amprocnum,
                            p.amproc::regprocedure)
                ELSE format('FUNCTION %s (%s, %s) %s', p.amprocnum,
                            format_type(p.amproclefttype, NULL),
                            format_type(p.amprocrighttype, NULL),
                            p.amproc::regprocedure)
           END
    FROM family f JOIN pg_amproc p ON p.amprocfamily = f.family
    WHERE p.amprocnum IN (1, 2, 4)
      AND NOT (p.amprocnum = 4 AND f.opfname IN
               ('bpchar_ops', 'bpchar_pattern_ops', 'oidvector_ops'))
), statement AS (
    SELECT f.opfname, 1 AS part, '' AS name,
           format(E'CREATE OPERATOR FAMILY %I USING betree;\n'
                  'COMMENT ON OPERATOR FAMILY %I USING betree IS\n    %L;',
                  f.opfname, f.opfname,
                  'counterpart of the btree family of this name') AS text
    FROM family f
    UNION ALL
    SELECT c.opfname, 2, c.nth || c.opcname,
           format(E'CREATE OPERATOR CLASS %I %sFOR TYPE %s\n'
                  '    USING betree FAMILY %I AS\n    %s;\n'
                  'COMMENT ON OPERATOR CLASS %I USING betree IS\n    %L;',
                  c.opcname, CASE WHEN c.opcdefault THEN 'DEFAULT ' END,
                  format_type(c.opcintype, NULL), c.opfname,
                  CASE WHEN c.nth = 1
                       THEN (SELECT string_agg(m.item, E',\n    '
                                               ORDER BY m.pos)
                             FROM member m
                             WHERE m.family = c.family
                               AND m.lefttype = c.opcintype
                               AND m.righttype = c.opcintype)
                       ELSE 'STORAGE ' || format_type(c.opcintype, NULL)
                  END,
                  c.opcname,
                  CASE WHEN c.nth = 1
                       THEN format('order of %s values, as in btree',
                                   format_type(c.opcintype, NULL))
                       ELSE format('alias for the other class over %s',
                                   format_type(c.opcintype, NULL))
                  END)
    FROM class c
    UNION ALL
    SELECT f.opfname, 3, '',
           format(E'ALTER OPERATOR FAMILY %I USING betree ADD\n    %s;',
                  f.opfname, string_agg(m.item, E',\n    '
                                        ORDER BY m.lefttype, m.righttype,
                                                 m.pos))
    FROM family f JOIN member m USING (family)
    WHERE m.lefttype <> m.righttype
    GROUP BY f.opfname
)
SELECT text || E'\n' FROM statement
ORDER BY opfname COLLATE "C", part, name COLLATE "C";
