-- Due deliveries whose destination has no room are parked: out of the queue, in an index of their own. The queue then holds
-- only what can be claimed, so a claim costs the same however many deliveries wait for a destination without room, and
-- however many destinations have deliveries due later.
ALTER TABLE "Delivery" ADD COLUMN "isParked" BOOLEAN NOT NULL DEFAULT false;

DROP INDEX "Delivery_due";
DROP INDEX "Delivery_destination_due";

CREATE INDEX "Delivery_due" ON "Delivery" ((least("attemptCount", 1)), "nextAttemptAt") WHERE "outcome" IS NULL AND NOT "isParked";
CREATE INDEX "Delivery_parked" ON "Delivery" ((coalesce("webhookId", "connectorId")), (least("attemptCount", 1)), "nextAttemptAt") WHERE "outcome" IS NULL AND "isParked";

-- Lists of pending and running deliveries, without reading the whole history.
CREATE INDEX "Delivery_unfinished" ON "Delivery" ("projectId", "id") WHERE "outcome" IS NULL;
