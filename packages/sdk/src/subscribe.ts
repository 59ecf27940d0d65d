import { errorOfGraphQL, errorOfResponse, TollgateError } from './errors.ts';
import type { LiveItem } from './feed.ts';
import { serverSentEvents } from './server-sent-events.ts';
import { connectionError, type Transport } from './transport.ts';

type GraphQLResult = {
  data?: Record<string, Record<string, unknown> | null> | null;
  errors?: Parameters<typeof errorOfGraphQL>[0][];
};
export type Subscription = { query: string; variables: Record<string, unknown>; field: string; item: string };

/** The service sends a keep-alive every 12 seconds. A connection that is silent for longer is dead. */
const MAX_SILENCE_SECONDS = 45;

/**
 * Opens a GraphQL subscription over server-sent events (docs/live.md). Returns its items, which end when the service
 * closes the stream.
 *
 * @throws TollgateError, before the first item or later.
 */
export async function subscribe<Item>(
  transport: Transport,
  { query, variables, field, item }: Subscription,
  signal: AbortSignal,
): Promise<AsyncGenerator<LiveItem<Item>>> {
  const silence = createSilenceTimer();
  signal.addEventListener('abort', silence.stop, { once: true });
  try {
    const response = await transport.open('/graphql', {
      method: 'POST',
      headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.any([signal, silence.signal]),
    });
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    if (!response.ok || !response.body || !isStream) throw errorOfResponse(response, await response.text());
    return items(response.body);
  } catch (error) {
    silence.stop();
    throw connectionError(error, signal, MAX_SILENCE_SECONDS);
  }

  async function* items(body: ReadableStream<Uint8Array>): AsyncGenerator<LiveItem<Item>> {
    try {
      for await (const { event, data } of serverSentEvents(body, silence.reset)) {
        if (event === 'complete') return;
        if (event !== 'next') continue;
        const result = JSON.parse(data) as GraphQLResult;
        if (result.errors?.[0]) throw errorOfGraphQL(result.errors[0]);
        const change = result.data?.[field];
        if (change) yield { cursor: change.cursor as string, item: change[item] as Item };
      }
    } catch (error) {
      throw connectionError(error, signal, MAX_SILENCE_SECONDS);
    } finally {
      silence.stop();
    }
  }
}

/** Creates a signal that aborts if nothing arrives for too long. */
function createSilenceTimer() {
  const controller = new AbortController();
  const message = `The connection was silent for ${MAX_SILENCE_SECONDS} seconds.`;
  const end = () => controller.abort(new TollgateError('TIMED_OUT', message));
  let timer = setTimeout(end, MAX_SILENCE_SECONDS * 1000);
  return {
    signal: controller.signal,
    reset() {
      clearTimeout(timer);
      timer = setTimeout(end, MAX_SILENCE_SECONDS * 1000);
    },
    stop: () => clearTimeout(timer),
  };
}
