-- Revenue by hour, and by customer, is kept in rollups, so reading it doesn't depend on how many payments there were. Nothing
-- is counted here: workers count the existing payments in the background, an hour at a time, and until then they are read.

-- CreateEnum
CREATE TYPE "CustomerRevenueInterval" AS ENUM ('HOUR', 'DAY', 'MONTH');

-- CreateTable
CREATE TABLE "RevenueHour" (
    "projectId" TEXT NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "endpointId" TEXT NOT NULL,
    "totalAtomic" DECIMAL(38,0) NOT NULL,
    "paymentCount" INTEGER NOT NULL,
    "failedCount" INTEGER NOT NULL,

    CONSTRAINT "RevenueHour_pkey" PRIMARY KEY ("projectId","hour","endpointId")
);

-- CreateTable
CREATE TABLE "CustomerRevenue" (
    "projectId" TEXT NOT NULL,
    "interval" "CustomerRevenueInterval" NOT NULL,
    "start" TIMESTAMPTZ(3) NOT NULL,
    "customerId" TEXT NOT NULL,
    "totalAtomic" DECIMAL(38,0) NOT NULL,
    "paymentCount" INTEGER NOT NULL,

    CONSTRAINT "CustomerRevenue_pkey" PRIMARY KEY ("projectId","interval","start","customerId")
);

-- CreateTable
CREATE TABLE "RevenueProgress" (
    "projectId" TEXT NOT NULL,
    "countedUntil" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "RevenueProgress_pkey" PRIMARY KEY ("projectId")
);

-- CreateTable
CREATE TABLE "ChangedRevenueHour" (
    "projectId" TEXT NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "id" BIGSERIAL NOT NULL,

    CONSTRAINT "ChangedRevenueHour_pkey" PRIMARY KEY ("projectId","hour","id")
);

-- AddForeignKey
ALTER TABLE "RevenueHour" ADD CONSTRAINT "RevenueHour_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "CustomerRevenue" ADD CONSTRAINT "CustomerRevenue_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "RevenueProgress" ADD CONSTRAINT "RevenueProgress_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ChangedRevenueHour" ADD CONSTRAINT "ChangedRevenueHour_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- A settlement is usually recorded within seconds. If it is recorded later, the rollups may be past its hour, so the hour is
-- noted in the same transaction, and counted again later. Rollups are always at least five minutes behind. Settlements that
-- are recorded sooner, and all other updates, don't call the function.
CREATE FUNCTION note_late_settlement() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "ChangedRevenueHour" ("projectId", "hour")
  VALUES (NEW."projectId", date_trunc('hour', NEW."settledAt", 'UTC'));
  RETURN NULL;
END
$$;

CREATE TRIGGER "Payment_note_late_settlement" AFTER UPDATE OF "settledAt" ON "Payment"
  FOR EACH ROW WHEN (NEW."settledAt" < now() - interval '5 minutes') EXECUTE FUNCTION note_late_settlement();
