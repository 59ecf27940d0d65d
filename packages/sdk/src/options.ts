export type TollgateOptions = {
  /** The URL of the service, such as `https://tollgate.example.com`. */
  baseUrl: string;
  /** An API key (`tg_live_…`, `tg_test_…`). */
  apiKey?: string;
  /**
   * A user's token, or a function that returns one. The function runs before every request, so it can renew the token.
   */
  token?: string | (() => string | Promise<string>);
  /** The project that methods apply to, unless a call specifies another one. */
  projectId?: string;
  /** How long one attempt may take. Default: 30. */
  timeoutSeconds?: number;
  /** How many times a failed request is retried. Default: 4. */
  maxRetries?: number;
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: typeof fetch;
};

/** Options for a single call. */
export type RequestOptions = {
  projectId?: string;
  signal?: AbortSignal;
  timeoutSeconds?: number;
  maxRetries?: number;
};

/** Options for a single POST. */
export type CreateOptions = RequestOptions & {
  /** Default: a random key for each call. Set your own key to retry safely after your program has restarted. */
  idempotencyKey?: string;
};
