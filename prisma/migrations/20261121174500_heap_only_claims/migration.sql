-- A claim changes `status`, `leasedUntil`, `leaseToken` and `errorClass`. No index knows any of them, so that PostgreSQL
-- writes the new version of the row beside the old one and touches no index (a heap-only tuple); with the indexes as they
-- were, most of the cost of a delivery was there. Rows are written once more: on a long history this takes a while.
DROP INDEX "Delivery_due";
DROP INDEX "Delivery_destination_due";
DROP INDEX "Delivery_by_hand";
DROP INDEX "Delivery_held";
DROP INDEX "Delivery_lease";
DROP INDEX "Delivery_ordering";
DROP INDEX "Delivery_waiting";
DROP INDEX "Delivery_finished";

-- Room for that version on the same page.
DO $$
DECLARE
  part regclass;
BEGIN
  FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = '"Delivery"'::regclass LOOP
    EXECUTE format('ALTER TABLE %s SET (fillfactor = 50)', part);
  END LOOP;
END
$$;

-- How a delivery has ended; null until then, whether it waits or is being sent.
ALTER TABLE "Delivery" ADD COLUMN "outcome" "DeliveryStatus"
  GENERATED ALWAYS AS (CASE WHEN "status" NOT IN ('PENDING', 'RUNNING') THEN "status" END) STORED;

CREATE INDEX "Delivery_due" ON "Delivery" ((least("attemptCount", 1)), "nextAttemptAt") WHERE "outcome" IS NULL;
CREATE INDEX "Delivery_destination_due" ON "Delivery" ((coalesce("webhookId", "connectorId")), (least("attemptCount", 1)), "nextAttemptAt") WHERE "outcome" IS NULL AND "nextAttemptAt" IS NOT NULL;
CREATE INDEX "Delivery_by_hand" ON "Delivery" ((coalesce("webhookId", "connectorId")), "nextAttemptAt") WHERE "outcome" IS NULL AND "trigger" = 'MANUAL';
CREATE INDEX "Delivery_held" ON "Delivery" ("connectorId") WHERE "outcome" IS NULL AND "nextAttemptAt" IS NULL;
CREATE INDEX "Delivery_ordering" ON "Delivery" ("webhookId", "orderingKey", "eventId") WHERE "orderingKey" IS NOT NULL AND "outcome" IS NULL;
CREATE INDEX "Delivery_waiting" ON "Delivery" ("updatedAt") WHERE "outcome" IS NULL AND "nextAttemptAt" IS NULL AND "orderingKey" IS NOT NULL;
CREATE INDEX "Delivery_finished" ON "Delivery" ("projectId", "outcome", "id") WHERE "outcome" IS NOT NULL;
