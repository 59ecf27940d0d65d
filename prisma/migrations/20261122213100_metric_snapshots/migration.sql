-- What metrics report about the whole service, counted by one process at a time and reported by all.
CREATE TABLE "MetricSnapshot" (
    "name" TEXT NOT NULL,
    "claimedAt" TIMESTAMPTZ(3) NOT NULL DEFAULT statement_timestamp(),
    "takenAt" TIMESTAMPTZ(3),
    "value" JSON,

    CONSTRAINT "MetricSnapshot_pkey" PRIMARY KEY ("name")
);
