-- Endpoints can be listed by path and by price, and customers by first payment.
CREATE INDEX "Endpoint_projectId_path_id_idx" ON "Endpoint"("projectId", "path", "id");
CREATE INDEX "Endpoint_projectId_priceAtomic_id_idx" ON "Endpoint"("projectId", "priceAtomic", "id");
CREATE INDEX "Customer_projectId_firstPaymentAt_id_idx" ON "Customer"("projectId", "firstPaymentAt", "id");
