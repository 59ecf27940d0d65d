-- The function finds its tables and operators in the schema, not in the session, whose temporary tables could have the
-- same names. Entries that belong to no project never change.
-- Safe: the last release only adds and reads entries.
DO $$
BEGIN
  -- If another role owns the function, the service can't replace it; see “Protect the audit log” in docs/deployment.md.
  IF pg_has_role((SELECT proowner FROM pg_proc WHERE oid = 'keep_audit_entries()'::regprocedure), 'USAGE') THEN
    CREATE OR REPLACE FUNCTION keep_audit_entries() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, public, pg_temp AS $keep$
    DECLARE
      moved "AuditEntry";
    BEGIN
      IF TG_OP = 'UPDATE' AND OLD."projectId" IS NOT NULL THEN
        moved := OLD;
        moved."userId" := (SELECT "userId" FROM "Project" WHERE "id" = OLD."projectId");
        IF NEW IS NOT DISTINCT FROM moved THEN
          RETURN NEW;
        END IF;
      END IF;
      RAISE insufficient_privilege USING MESSAGE = 'entries of the audit log can''t be changed or deleted';
    END $keep$;
  END IF;
END $$;
