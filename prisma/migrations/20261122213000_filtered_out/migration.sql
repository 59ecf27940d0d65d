-- An event that doesn't match a destination's filter no longer has a skipped delivery: the event lists the destination, and
-- the events are counted. Skipped deliveries that exist stay as they are. Adding a column without a default rewrites nothing.
ALTER TABLE "Event" ADD COLUMN "filteredOut" TEXT[];

-- CreateTable
CREATE TABLE "FilteredOutRollup" (
    "projectId" TEXT NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "destinationId" TEXT NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "FilteredOutRollup_pkey" PRIMARY KEY ("projectId","hour","destinationId")
);

-- AddForeignKey
ALTER TABLE "FilteredOutRollup" ADD CONSTRAINT "FilteredOutRollup_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- CreateTable
CREATE TABLE "FilteredOutProgress" (
    "countedUntil" TEXT NOT NULL,

    CONSTRAINT "FilteredOutProgress_pkey" PRIMARY KEY ("countedUntil")
);

-- Older events list no destinations, so there is nothing to count in them.
INSERT INTO "FilteredOutProgress" ("countedUntil") SELECT coalesce(max("id"), '') FROM "Event";
