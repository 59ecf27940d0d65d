/** The maximum size of `inputSchema` and of `exampleResponse`, as JSON. */
export const MAX_JSON_BYTES = 32_768;
/** The maximum number of values in each. As objects, many small values use 20 times as much memory as their JSON. */
export const MAX_JSON_VALUES = 2_000;
