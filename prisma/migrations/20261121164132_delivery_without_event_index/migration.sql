-- DropIndex
DROP INDEX "Delivery_eventId_idx";
