-- An endpoint can have several earlier prices. Building the index is quick: the table has at most one row per endpoint.
ALTER TABLE "PreviousPrice" DROP CONSTRAINT "PreviousPrice_pkey",
ADD CONSTRAINT "PreviousPrice_pkey" PRIMARY KEY ("endpointId", "priceAtomic");
