-- Event, Delivery and Attempt become partitioned by the time that their ids begin with, so that what is too old goes by
-- DROP. Nothing is copied: each table, as it is, becomes the first partition of the new one.

-- References sort as the ids do, byte by byte, so that they can be compared with the bounds of partitions.
ALTER TABLE "Delivery" DROP CONSTRAINT "Delivery_eventId_fkey", ALTER COLUMN "eventId" TYPE TEXT COLLATE "C";
ALTER TABLE "Attempt" DROP CONSTRAINT "Attempt_deliveryId_fkey", ALTER COLUMN "deliveryId" TYPE TEXT COLLATE "C";

-- The key of a partitioned table holds the column that it is partitioned by.
ALTER TABLE "Attempt" DROP CONSTRAINT "Attempt_pkey",
  ADD CONSTRAINT "Attempt_pkey" PRIMARY KEY USING INDEX "Attempt_deliveryId_number_key";

-- The smallest id at a time in milliseconds: 48 bits of time and 80 of zeros in base32, as in src/ids.ts.
CREATE FUNCTION pg_temp.first_id(prefix text, milliseconds bigint) RETURNS text LANGUAGE sql AS $$
  SELECT prefix || '_' || string_agg(
    substr('0123456789abcdefghjkmnpqrstvwxyz', ((milliseconds >> (5 * digit)) & 31)::int + 1, 1), '' ORDER BY digit DESC
  ) || repeat('0', 16) FROM generate_series(0, 9) AS digit
$$;

DO $$
DECLARE
  week CONSTANT bigint := 7 * 24 * 60 * 60 * 1000;
  ends bigint := (floor(extract(epoch FROM now()) * 1000 / week) + 1) * week;
  old record;
  statement text;
  statements text[];
BEGIN
  -- Ids ahead of the time, made by a machine whose clock is wrong, stay in the first partition too.
  WHILE EXISTS (SELECT FROM "Event" WHERE "id" >= pg_temp.first_id('evt', ends))
     OR EXISTS (SELECT FROM "Delivery" WHERE "id" >= pg_temp.first_id('dlv', ends))
     OR EXISTS (SELECT FROM "Attempt" WHERE "deliveryId" >= pg_temp.first_id('dlv', ends))
  LOOP
    ends := ends + week;
  END LOOP;

  FOR old IN
    SELECT * FROM (VALUES ('Event', 'id', 'evt'), ('Delivery', 'id', 'dlv'), ('Attempt', 'deliveryId', 'dlv'))
      AS tables("name", "key", "prefix")
  LOOP
    -- The new table has the constraints and indexes that the old one has by now, by their names and definitions.
    SELECT array_agg(format('ALTER TABLE %I ADD CONSTRAINT %I %s', old."name", conname, pg_get_constraintdef(oid)) ORDER BY contype DESC)
      INTO statements FROM pg_constraint WHERE conrelid = format('%I', old."name")::regclass AND contype IN ('p', 'u', 'f', 'c');
    SELECT statements || coalesce(array_agg(pg_get_indexdef(i.indexrelid)), '{}')
      INTO statements FROM pg_index i WHERE i.indrelid = format('%I', old."name")::regclass
       AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid AND conrelid = i.indrelid);

    FOR statement IN
      SELECT format('ALTER INDEX %s RENAME TO %I', indexrelid::regclass,
                    old."name" || '_initial' || substr(relname, length(old."name") + 1))
        FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = format('%I', old."name")::regclass
    LOOP
      EXECUTE statement;
    END LOOP;
    EXECUTE format('ALTER TABLE %I RENAME TO %I', old."name", old."name" || '_initial');
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING STORAGE) PARTITION BY RANGE (%I)',
                   old."name", old."name" || '_initial', old."key");
    FOREACH statement IN ARRAY statements LOOP
      EXECUTE statement;
    END LOOP;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)',
                   old."name", old."name" || '_initial', pg_temp.first_id(old."prefix", ends));
    -- What no other partition takes, so that nothing is refused when new ones are late.
    EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', old."name" || '_default', old."name");
  END LOOP;
END
$$;

DROP FUNCTION pg_temp.first_id;

-- In place of a foreign key from Attempt to Delivery, which would make dropping a partition read every attempt. Nested
-- loops find attempts by their index, whatever the planner thinks of the number of deliveries.
CREATE FUNCTION delete_attempts() RETURNS trigger LANGUAGE plpgsql
  SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  DELETE FROM "Attempt" a USING deleted d WHERE a."deliveryId" = d."id";
  RETURN NULL;
END
$$;

CREATE TRIGGER "Delivery_delete_attempts" AFTER DELETE ON "Delivery" REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT EXECUTE FUNCTION delete_attempts();
