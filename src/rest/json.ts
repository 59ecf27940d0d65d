/** An object in the OpenAPI document. */
export type Json = { [key: string]: unknown };
