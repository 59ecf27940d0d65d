import type {
  BuildContext,
  ConnectorDefinition,
  ConnectorEvent,
  ConnectorMemory,
  Outcome,
} from '../../connectors/definition.ts';
import type { ConnectorRequest } from '../../connectors/exchange.ts';
import { cloudflareRefusal } from '../../connectors/shared/blocked.ts';
import type { Egress, EgressResponse } from '../../egress/egress.ts';
import { addPhases, NO_PHASES } from '../../egress/phases.ts';
import { expandEventTypes } from '../../events/types.ts';
import type {
  AttemptRecord,
  ClaimedConnector,
  ClaimedDelivery,
  RecordedRequest,
  SendResult,
  Verdict,
} from '../model/claimed-delivery.ts';
import { type AttemptErrorClass, isAmbiguous } from '../model/error-classes.ts';
import { type Ready, TOKEN_TIMEOUT_SECONDS, type WithToken } from './access-tokens.ts';
import type { ReadHistory } from './endpoint-history.ts';
import { failedTry, withoutToken } from './failed-tries.ts';
import { type Try, withQuickTries } from './quick-tries.ts';
import { recordedHeaders, recordedRequest } from './recorded-exchange.ts';
import type { ReadLastResend } from './resends.ts';
import { MAX_RESPONSE_BYTES, storedBody, storedMessage } from './response-text.ts';
import { NO_QUICK_RETRIES } from './retry-policy.ts';
import { waitToSearch } from './search-turns.ts';
import type { SendControl, SenderOptions } from './send-webhook.ts';
import { toResponse } from './vendor-response.ts';

/** Deliveries of one connector that are sent together: just one, unless the type supports batches. */
export type ConnectorGroup = readonly [ClaimedDelivery, ...ClaimedDelivery[]];

export type ConnectorSenderOptions = SenderOptions & {
  egress: Pick<Egress, 'send'>;
  withToken: WithToken;
  /** An event's URL in the console, if known. */
  consoleUrl?: (event: { id: string; projectId: string }) => string | undefined;
  /** Whether payments are settled on a local chain. */
  isLocalChain: boolean;
  readHistory?: ReadHistory;
  readLastResend?: ReadLastResend;
};

const DEFAULT_MAX_CALLS = 5;
/** Extra time that a delivery may take on top of its calls, for example, to read from the database. */
const MARGIN_SECONDS = 10;
const DEFAULT_TIMEOUT_SECONDS = 15;

/** The maximum number of seconds that sending to a connector of this type can take, without quick retries. */
export function longestSecondsOf(
  definition: Pick<ConnectorDefinition, 'maxCalls' | 'timeoutSeconds' | 'credential'>,
): number {
  const { maxCalls = DEFAULT_MAX_CALLS, timeoutSeconds = DEFAULT_TIMEOUT_SECONDS, credential } = definition;
  const once = maxCalls * timeoutSeconds + MARGIN_SECONDS;
  // If there is a credential, the calls may be made once more with a new token.
  return credential ? 2 * (once + TOKEN_TIMEOUT_SECONDS) : once;
}

/** Creates the function that sends a connector's claimed deliveries and returns a result for each. It never throws. */
export function createConnectorSender(options: ConnectorSenderOptions) {
  return async function sendToConnector(
    group: ConnectorGroup,
    connector: ClaimedConnector,
    definition: ConnectorDefinition,
    control: SendControl,
  ): Promise<SendResult[]> {
    const result = await sendGroup(group, connector, definition, control, options);
    // One rejected event must not fail or hold the others in its batch.
    const isRejected = result.verdict.kind === 'drop' || result.verdict.kind === 'hold';
    if (!isRejected || group.length === 1) return group.map((_, index) => forMember(result, index));
    const middle = Math.ceil(group.length / 2);
    const halves = [group.slice(0, middle), group.slice(middle)] as unknown as ConnectorGroup[];
    const wiser = { ...connector, memory: mergeMemory(connector.memory, result.remember ?? {}) };
    const results: SendResult[] = [];
    for (const half of halves) {
      const isTime = await control.nextSlot();
      results.push(...(isTime ? await sendToConnector(half, wiser, definition, control) : half.map(leaveForLater)));
    }
    return results.map((later, index) => mergeResults(forMember(result, index), later));
  };
}

async function sendGroup(
  group: ConnectorGroup,
  connector: ClaimedConnector,
  definition: ConnectorDefinition,
  { mayRetry, signal }: SendControl,
  options: ConnectorSenderOptions,
): Promise<SendResult> {
  const [first] = group;
  const { egress, secretBox, log, userAgent, consoleUrl, isLocalChain, readHistory, readLastResend, withToken } =
    options;
  const { maxCalls = DEFAULT_MAX_CALLS } = definition;
  const quickRetries = definition.retryDelaysSeconds ? NO_QUICK_RETRIES : options.quickRetries;
  const timeoutMilliseconds = definition.timeoutSeconds
    ? definition.timeoutSeconds * 1000
    : options.timeoutMilliseconds;
  let memory = connector.memory;

  function remember(patch: Record<string, string> | undefined, into: Record<string, string>): void {
    if (!patch) return;
    Object.assign(into, patch);
    memory = mergeMemory(memory, patch);
  }

  const withUserAgent = (request: ConnectorRequest): ConnectorRequest => ({
    ...request,
    headers: { 'user-agent': userAgent, ...request.headers },
  });

  async function call(request: ConnectorRequest): Promise<EgressResponse> {
    const { method, url, headers, body, maxResponseBytes = MAX_RESPONSE_BYTES } = request;
    const limits = { timeoutMilliseconds, maxResponseBytes, signal };
    const owner = definition.sellersRespond && { owner: first.account };
    return egress.send({ method, url, headers, ...(body !== undefined && { body }), ...owner, ...limits });
  }

  async function tryOnce(number: number, previous: Try | undefined): Promise<Try> {
    const startedAt = first.databaseTime();
    const learned: Record<string, string> = {};
    let sent: RecordedRequest | undefined;
    let durationMs = 0;
    let phases = NO_PHASES;

    async function sendWith({ config, secrets }: Ready): Promise<{ sending: Try; isUnauthorized: boolean }> {
      const events = group.map(toConnectorEvent) as unknown as readonly [ConnectorEvent, ...ConnectorEvent[]];
      const question = definition.lookBack?.(events[0], config);
      const lookBack = async () =>
        question && readHistory ? { history: await readHistory(events[0], question, first.account) } : {};
      const resentAt = (definition.repeatsResponses && (await readLastResend?.(first))) ?? null;
      const eventUrl = consoleUrl?.({ id: first.event.id, projectId: first.projectId });
      const context: BuildContext = {
        connectorId: connector.id,
        projectId: first.projectId,
        projectName: first.projectName,
        selectedTypes: expandEventTypes(connector.eventTypes),
        memory,
        attemptNumber: Math.max(...group.map(({ attemptCount }) => attemptCount)) + number,
        previousAttemptAmbiguous: previous
          ? isAmbiguous(previous.attempt?.errorClass ?? null)
          : group.some(({ previousErrorClass }) => isAmbiguous(previousErrorClass)),
        isRetry: previous !== undefined || group.some(isScheduledRetry),
        now: new Date(startedAt),
        isLocalChain,
        ...(eventUrl && { consoleUrl: eventUrl }),
        ...(resentAt !== null && { resentAt }),
        ...(await lookBack()),
      };
      const unsent = (sending: Try) => ({ sending, isUnauthorized: false });

      const built = definition.build(events, config, context);
      if ('skip' in built) return unsent({ verdict: { kind: 'skip', reason: storedMessage(built.skip, secrets) } });
      const unknown = Object.entries(built.announce ?? {}).filter(([name, value]) => memory[name] !== value);
      // These entries are recorded with this claim's result so that every process has them for the next delivery.
      if (unknown.length > 0) {
        return unsent({ verdict: { kind: 'wait', afterSeconds: 0 }, remember: Object.fromEntries(unknown) });
      }
      let request = withUserAgent(built);
      for (let steps = 1; ; steps++) {
        await waitToSearch(secrets, first.account);
        sent = recordedRequest(request, secrets, first.account);
        const response = await call(request);
        await waitToSearch(secrets, first.account);
        durationMs += response.durationMilliseconds;
        phases = addPhases(phases, response.phases);
        const step = request.step ?? 'send';
        const known = { ...context, ...(await lookBack()), memory };
        const received = toResponse(response);
        const outcome =
          cloudflareRefusal(definition, received, context.now) ??
          definition.classify(received, { ...known, config, events, step });
        if ('remember' in outcome) remember(outcome.remember, learned);
        if (outcome.kind === 'next' && steps < maxCalls) {
          request = withUserAgent(outcome.request);
          continue;
        }
        const exchange = {
          phases,
          request: sent,
          responseHeaders: recordedHeaders(response.headers, secrets, first.account),
        };
        const sending = {
          ...toTry(outcome, response, { secrets, accountId: first.account }, { startedAt, durationMs, exchange }),
          remember: learned,
        };
        // If the event has been delivered, starting over with a new token would only deliver it again.
        return { sending, isUnauthorized: response.statusCode === 401 && outcome.kind !== 'delivered' };
      }
    }

    try {
      const config = openConfig(first, connector, secretBox);
      // If the credential is changed in the meantime, no token from the old one is stored or used.
      const ids = { id: connector.id, projectId: first.projectId, sealedCredential: connector.secretConfig };
      const result = await withToken(ids, definition, config, sendWith);
      return 'kind' in result ? withoutToken(result, startedAt, first.databaseTime()) : result.sending;
    } catch (error) {
      const before = { durationMs, phases };
      return {
        ...failedTry(error, { startedAt, delivery: first, log, request: sent, ...before }),
        remember: learned,
      };
    }
  }

  return withQuickTries(tryOnce, { isRepeatable: false, mayRetry, ...(quickRetries && { policy: quickRetries }) });
}

function toTry(
  outcome: Outcome,
  response: EgressResponse,
  { secrets, accountId }: { secrets: readonly string[]; accountId: string },
  measured: Pick<AttemptRecord, 'startedAt' | 'durationMs' | 'exchange'>,
): Try {
  const verdict = toVerdict(outcome, secrets);
  const { statusCode } = response;
  const isDelivered = verdict.kind === 'delivered';
  const isBlocked = verdict.kind === 'blocked';
  const byStatus = statusCode < 200 || statusCode > 299 ? 'http_status' : 'rejected';
  const errorClass: AttemptErrorClass = isBlocked ? 'blocked' : byStatus;
  const attempt: AttemptRecord = {
    ...measured,
    statusCode,
    errorClass: isDelivered ? null : errorClass,
    errorMessage: isDelivered || !('reason' in verdict) ? null : (verdict.reason ?? null),
    responseBody: storedBody(response, secrets, accountId),
  };
  return { attempt, verdict };
}

function toVerdict(outcome: Outcome, secrets: readonly string[]): Verdict {
  if (outcome.kind === 'next') return { kind: 'retry', reason: 'The delivery requires too many calls.' };
  if (outcome.kind === 'delivered') {
    return { kind: 'delivered', ...(outcome.note && { reason: storedMessage(outcome.note, secrets) }) };
  }
  const reason = storedMessage(outcome.reason, secrets);
  if (outcome.kind === 'blocked') return { kind: 'blocked', reason, afterSeconds: outcome.afterSeconds };
  if (outcome.kind !== 'retry') return { kind: outcome.kind, reason };
  const { afterSeconds } = outcome;
  return { kind: 'retry', reason, ...(afterSeconds !== undefined && { afterSeconds }) };
}

function openConfig(
  { projectId }: ClaimedDelivery,
  { id, secretConfig }: ClaimedConnector,
  secretBox: SenderOptions['secretBox'],
): Record<string, unknown> {
  const cell = { table: 'Connector', column: 'secretConfig', rowId: id, projectId };
  return JSON.parse(secretBox.open(secretConfig, cell));
}

function toConnectorEvent({ event, projectId }: ClaimedDelivery): ConnectorEvent {
  const { id, type, test, timestamp, data } = event;
  return { id, type, timestamp: timestamp.toISOString(), projectId, test, data: JSON.parse(data) } as ConnectorEvent;
}

function mergeMemory(memory: ConnectorMemory, patch: Record<string, string>): ConnectorMemory {
  return Object.fromEntries(Object.entries({ ...memory, ...patch }).filter(([, value]) => value !== ''));
}

/** The first attempt after a manual resend isn't a retry, and the ones after it are scheduled. */
const isScheduledRetry = ({ attemptCount, trigger }: ClaimedDelivery) => attemptCount > 0 && trigger === 'SCHEDULED';

const leaveForLater = (): SendResult => ({ attempts: [], verdict: { kind: 'wait', afterSeconds: 0 } });

/** The entries to remember are stored once per batch. */
function forMember(result: SendResult, index: number): SendResult {
  return index === 0 ? result : { ...result, remember: {} };
}

function mergeResults(earlier: SendResult, later: SendResult): SendResult {
  const remember = { ...earlier.remember, ...later.remember };
  return { attempts: [...earlier.attempts, ...later.attempts], verdict: later.verdict, remember };
}
