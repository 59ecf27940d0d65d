-- Tells a replay's deliveries from those that someone resent. Those go before a destination's other deliveries.
ALTER TABLE "Delivery" ADD COLUMN "isReplay" BOOLEAN NOT NULL DEFAULT false;
