-- A path's methods can be split among several endpoints, but each method has at most one endpoint. Parameter names don't
-- matter, because `/users/:id` and `/users/:name` match the same requests. An empty list means every method, so it
-- overlaps with every other endpoint. One index per method: processes of the previous version get the same kind of
-- violation as before.
CREATE UNIQUE INDEX "Endpoint_get" ON "Endpoint" ("projectId", (regexp_replace("path", '/:[^/]+', '/:', 'g')))
  WHERE coalesce(cardinality("methods"), 0) = 0 OR 'GET' = ANY ("methods");
CREATE UNIQUE INDEX "Endpoint_head" ON "Endpoint" ("projectId", (regexp_replace("path", '/:[^/]+', '/:', 'g')))
  WHERE coalesce(cardinality("methods"), 0) = 0 OR 'HEAD' = ANY ("methods");
CREATE UNIQUE INDEX "Endpoint_post" ON "Endpoint" ("projectId", (regexp_replace("path", '/:[^/]+', '/:', 'g')))
  WHERE coalesce(cardinality("methods"), 0) = 0 OR 'POST' = ANY ("methods");
CREATE UNIQUE INDEX "Endpoint_put" ON "Endpoint" ("projectId", (regexp_replace("path", '/:[^/]+', '/:', 'g')))
  WHERE coalesce(cardinality("methods"), 0) = 0 OR 'PUT' = ANY ("methods");
CREATE UNIQUE INDEX "Endpoint_patch" ON "Endpoint" ("projectId", (regexp_replace("path", '/:[^/]+', '/:', 'g')))
  WHERE coalesce(cardinality("methods"), 0) = 0 OR 'PATCH' = ANY ("methods");
CREATE UNIQUE INDEX "Endpoint_delete" ON "Endpoint" ("projectId", (regexp_replace("path", '/:[^/]+', '/:', 'g')))
  WHERE coalesce(cardinality("methods"), 0) = 0 OR 'DELETE' = ANY ("methods");
DROP INDEX "Endpoint_shape";
DROP INDEX "Endpoint_projectId_path_key";
