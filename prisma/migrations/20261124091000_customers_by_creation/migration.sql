-- Exports read a project's customers in the order in which they were created, which payments don't change.
CREATE INDEX "Customer_projectId_id_idx" ON "Customer"("projectId", "id");
