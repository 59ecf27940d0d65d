-- When each periodic clean-up last started, so that only one worker runs it.
CREATE TABLE "Sweep" (
    "name" TEXT NOT NULL,
    "startedAt" TIMESTAMPTZ(3) NOT NULL DEFAULT statement_timestamp(),

    CONSTRAINT "Sweep_pkey" PRIMARY KEY ("name")
);
