import type {
  BuildContext,
  Built,
  ClassifyContext,
  ConnectorDefinition,
  ConnectorEvent,
} from '../../../src/connectors/definition.ts';
import type { ConnectorRequest, ConnectorResponse } from '../../../src/connectors/exchange.ts';
import { SAMPLE_PAYLOADS } from '../../../src/events/samples.ts';
import { EVENT_TYPES, type EventPayload, type EventType } from '../../../src/events/types.ts';

export const EVENT_TIME = '2026-01-02T03:04:05.678Z';
export const CONNECTOR_ID = 'con_01jc9x2v5qe3w8k4m6n7p9r0st';

/** Creates an event with the documented sample payload. `data` replaces individual fields. */
export function sampleEvent<K extends EventType>(
  type: K,
  data: Partial<EventPayload<K>> = {},
  envelope: Partial<Pick<ConnectorEvent, 'id' | 'timestamp' | 'projectId' | 'test'>> = {},
): ConnectorEvent {
  return {
    id: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
    type,
    timestamp: EVENT_TIME,
    projectId: 'proj_01jc9x2v5qe3w8k4m6n7p9r0st',
    test: false,
    data: { ...SAMPLE_PAYLOADS[type], ...data },
    ...envelope,
  } as ConnectorEvent;
}

/** Creates a sample event that is marked as a test. */
export function testEvent(type: EventType = 'payment.settled'): ConnectorEvent {
  return sampleEvent(type, {}, { test: true });
}

/** Creates a context for the first attempt, two seconds after the sample events, with an empty memory. */
export function sampleContext(overrides: Partial<BuildContext> = {}): BuildContext {
  return {
    connectorId: CONNECTOR_ID,
    projectId: 'proj_01jc9x2v5qe3w8k4m6n7p9r0st',
    projectName: 'Weather API',
    selectedTypes: new Set(EVENT_TYPES),
    memory: {},
    attemptNumber: 1,
    previousAttemptAmbiguous: false,
    isRetry: false,
    now: new Date(Date.parse(EVENT_TIME) + 2000),
    ...overrides,
  };
}

export function classifyContext<Config>(
  config: Config,
  event: ConnectorEvent,
  overrides: Partial<ClassifyContext<Config>> = {},
): ClassifyContext<Config> {
  return { ...sampleContext(), config, events: [event], step: 'send', ...overrides };
}

/** Creates a vendor's response. An object becomes a JSON body. */
export function vendorResponse(
  statusCode: number,
  body: string | object = '',
  headers: Record<string, string> = {},
): ConnectorResponse {
  return { statusCode, headers, body: typeof body === 'string' ? body : JSON.stringify(body) };
}

/** Returns the built request. @throws Error if the event was skipped. */
export function requestOf(built: Built): ConnectorRequest {
  if ('skip' in built) throw new Error(`Skipped: ${built.skip}`);
  return built;
}

/** Returns the parsed JSON body of the request that a definition builds for one event. */
export function builtJson<Config>(
  definition: ConnectorDefinition<Config>,
  config: Config,
  event: ConnectorEvent,
  context: BuildContext = sampleContext(),
) {
  return JSON.parse(requestOf(definition.build([event], config, context)).body ?? 'null');
}

/** Returns whether the definition's config accepts a value. */
export function accepts<Config>(definition: ConnectorDefinition<Config>, value: unknown): boolean {
  return definition.config.safeParse(value).success;
}

/** Text that a buyer or a seller could enter in any text field, and that must cause no harm at the vendor. */
export const HOSTILE_TEXTS = [
  '<!channel> <!here> <@U012AB3CD> @everyone @here @all @channel',
  '<script>alert(1)</script><b onmouseover="x">&amp;',
  '*bold* _it_ ~s~ `code` ```block``` [link](https://evil.example) ||spoiler||',
  '=HYPERLINK("https://evil.example","x")',
  '+1+1',
  '-1',
  '@SUM(A1)',
  '%%%%% @pagerduty @slack-ops %%%%%',
  'line one\r\nline two\nBcc: victim@example.com',
  'before\u0000after\u0007\u001b[31mred',
  '\u202Eright to left\u202C \u200Bzero width\uFEFF',
  'lone \ud83d surrogate',
  '{{constructor.constructor("x")()}} $\u007b7*7} "quote" \\ back',
  '😀'.repeat(400),
  'x'.repeat(10_000),
] as const;
