import { MAX_JSON_BYTES, MAX_JSON_VALUES } from '../../endpoints/json-limits.ts';

/** A part of a document that can't be imported, or can be imported only in part: where it is (RFC 6901), and why. */
export type Problem = { pointer: string; message: string };

/** One operation of an API. */
export type ApiOperation = {
  /** In uppercase. */
  method: string;
  /** The endpoint's path, in canonical form: `/users/:id` for `/users/{id}`. */
  path: string;
  /** The document's description of the path, which all of its operations share. */
  pathDescription: string | null;
  description: string | null;
  /** The path's own server, if it has one. */
  server: string | null;
  tags: string[];
  /** The media type of its response, for example, `application/json`. */
  mimeType: string | null;
  /** JSON Schemas without references. */
  inputSchema: { query?: Json; path?: Json; headers?: Json; body?: Json } | null;
  exampleResponse: Json | null;
  /** What a seller should know about this operation, even though it can be imported. */
  problems: string[];
};

/** The parts of an OpenAPI document that endpoints need. */
export type ApiDocument = {
  title: string | null;
  description: string | null;
  /** URLs, with variables replaced by their default values. They may be relative to the document. */
  servers: string[];
  operations: ApiOperation[];
  problems: Problem[];
};

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { readonly [key: string]: unknown };

/** Limits on documents, which may come from untrusted sources. */
export const LIMITS = {
  documentBytes: 5 * 1024 * 1024,
  paths: 1_000,
  problems: 200,
  /** The maximum length of a chain of references. */
  references: 20,
  parameters: 100,
  titleLength: 200,
  descriptionLength: 1_000,
  tags: 10,
  tagLength: 32,
  messageLength: 300,
  /** The limits for one schema or example. */
  valueBytes: MAX_JSON_BYTES,
  valueDepth: 16,
  valueNodes: MAX_JSON_VALUES,
  /** The limit for all schemas and examples together. */
  allNodes: 100_000,
  /** The limit for reading all operations, including the parts that they share. See `spendSteps`. */
  steps: 5_000_000,
  /** The maximum size of all operations as JSON. Each operation has its own copy of the parts that it references. */
  operationsBytes: 16 * 1024 * 1024,
} as const;
