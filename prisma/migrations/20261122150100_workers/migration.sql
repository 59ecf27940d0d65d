-- The running delivery workers, which take turns to act on hints.
CREATE TABLE "Worker" (
    "id" TEXT NOT NULL,
    "seenAt" TIMESTAMPTZ(3) NOT NULL DEFAULT statement_timestamp(),

    CONSTRAINT "Worker_pkey" PRIMARY KEY ("id")
);
