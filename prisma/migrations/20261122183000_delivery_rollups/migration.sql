-- Delivery statistics are kept by hour and day, so reading them doesn't depend on how many deliveries there were. Nothing is
-- counted here: workers count the existing deliveries in the background, an hour at a time, and until then they are read.

-- CreateEnum
CREATE TYPE "DeliveryRollupInterval" AS ENUM ('HOUR', 'DAY');

-- CreateTable
CREATE TABLE "DeliveryRollup" (
    "projectId" TEXT NOT NULL,
    "interval" "DeliveryRollupInterval" NOT NULL,
    "start" TIMESTAMPTZ(3) NOT NULL,
    "succeededCount" INTEGER NOT NULL,
    "failedCount" INTEGER NOT NULL,
    "skippedCount" INTEGER NOT NULL,
    "retriedCount" INTEGER NOT NULL,
    "responseTimesMs" INTEGER[],
    "responseCounts" INTEGER[],

    CONSTRAINT "DeliveryRollup_pkey" PRIMARY KEY ("projectId","interval","start")
);

-- CreateTable
CREATE TABLE "DeliveryRollupProgress" (
    "projectId" TEXT NOT NULL,
    "countedUntil" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "DeliveryRollupProgress_pkey" PRIMARY KEY ("projectId")
);

-- CreateTable
CREATE TABLE "ChangedDeliveryHour" (
    "projectId" TEXT NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "id" BIGSERIAL NOT NULL,

    CONSTRAINT "ChangedDeliveryHour_pkey" PRIMARY KEY ("projectId","hour","id")
);

-- AddForeignKey
ALTER TABLE "DeliveryRollup" ADD CONSTRAINT "DeliveryRollup_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "DeliveryRollupProgress" ADD CONSTRAINT "DeliveryRollupProgress_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- A finished delivery changes only if it is resent or deleted. Its hour is noted in the same transaction, and counted again
-- later. Neither trigger does anything when a delivery is created, claimed, or finished.
CREATE FUNCTION note_changed_delivery() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "ChangedDeliveryHour" ("projectId", "hour")
  VALUES (OLD."projectId", date_trunc('hour', OLD."updatedAt", 'UTC'));
  RETURN NULL;
END
$$;

CREATE TRIGGER "Delivery_note_changed" AFTER UPDATE ON "Delivery"
  FOR EACH ROW WHEN (OLD."outcome" IS NOT NULL) EXECUTE FUNCTION note_changed_delivery();

CREATE FUNCTION note_deleted_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "ChangedDeliveryHour" ("projectId", "hour")
  SELECT DISTINCT "projectId", date_trunc('hour', "updatedAt", 'UTC') FROM deleted WHERE "outcome" IS NOT NULL;
  RETURN NULL;
END
$$;

CREATE TRIGGER "Delivery_note_deleted" AFTER DELETE ON "Delivery" REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT EXECUTE FUNCTION note_deleted_deliveries();
