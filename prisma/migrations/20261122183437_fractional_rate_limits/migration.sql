-- Rate limits may be fractions. This rewrites both tables, which is quick: they have one row per destination.
ALTER TABLE "Webhook" ALTER COLUMN "maxPerSecond" SET DATA TYPE DOUBLE PRECISION;
ALTER TABLE "Connector" ALTER COLUMN "maxPerSecond" SET DATA TYPE DOUBLE PRECISION;
