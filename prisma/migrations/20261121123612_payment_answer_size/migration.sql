-- Finds the answers that count for what a project may keep; those up to 16 KB do not.
CREATE INDEX "PaymentAnswer_size" ON "PaymentAnswer" (octet_length("body")) WHERE octet_length("body") > 16384;
