-- Processes of the previous version neither read nor write the column. Adding it doesn't rewrite the table.
ALTER TABLE "Project" ADD COLUMN "timeZone" TEXT NOT NULL DEFAULT 'UTC';

-- CreateTable
CREATE TABLE "SummaryPeriod" (
    "projectId" TEXT NOT NULL,
    "lastDay" DATE NOT NULL,
    "day" DATE NOT NULL,
    "from" TIMESTAMPTZ(3) NOT NULL,
    "to" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "SummaryPeriod_pkey" PRIMARY KEY ("projectId")
);

-- CreateIndex
CREATE INDEX "SummaryPeriod_to_idx" ON "SummaryPeriod"("to");

-- AddForeignKey
ALTER TABLE "SummaryPeriod" ADD CONSTRAINT "SummaryPeriod_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The steps of payments queue every UTC day with payments. The days of a project with a SummaryPeriod aren't UTC days, so
-- they stay out of the queue, even if a process of the previous version adds them. Rows with an event are summaries that
-- were recorded.
CREATE FUNCTION skip_utc_day() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM "SummaryPeriod" WHERE "projectId" = NEW."projectId") THEN RETURN NULL; END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER "DailySummary_skip_utc_day" BEFORE INSERT ON "DailySummary"
  FOR EACH ROW WHEN (NEW."eventId" IS NULL) EXECUTE FUNCTION skip_utc_day();
