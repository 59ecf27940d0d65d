-- What a canceled replay gives back, even if its project has a new owner or its owner a new tier.
ALTER TABLE "Replay" ADD COLUMN "chargedAccountId" TEXT,
ADD COLUMN "chargedLimitPerDay" INTEGER;
