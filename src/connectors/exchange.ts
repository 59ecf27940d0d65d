export type ConnectorRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  url: string;
  headers: Record<string, string>;
  body?: string;
  /** A name for this call, so that `classify` can tell the calls of a delivery apart. Defaults to `send`. */
  step?: string;
  /** Entries that are saved to memory before a delivery's first request is sent, so that every process can see them. */
  announce?: Record<string, string>;
  /** How much of the response to read, in bytes. Defaults to 64 KB. The rest is cut off. */
  maxResponseBytes?: number;
};

export type ConnectorResponse = {
  statusCode: number;
  /** Names are lowercase. */
  headers: Readonly<Record<string, string>>;
  body: string;
};
