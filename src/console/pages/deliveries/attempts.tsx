import { Accordion, Badge, Code, Group, Stack, Text, Title } from '@mantine/core';
import type { DeliveryStatus, OneDeliveryQuery } from '../../../generated/console/deliveries.ts';
import { Facts } from '../../parts/facts.tsx';
import { formatMilliseconds } from '../../parts/format.ts';
import { Time } from '../../parts/time.tsx';

type Attempt = NonNullable<NonNullable<OneDeliveryQuery['project']>['delivery']>['attempts'][number];

/** A delivery's attempts, newest first. The newest one is expanded. If the delivery was skipped, says why there are no
 * more attempts. */
export function Attempts({ attempts, status }: { attempts: readonly Attempt[]; status: DeliveryStatus }) {
  const newestFirst = attempts.toReversed();
  const rest = whyNoMore(attempts.length, status);
  return (
    <Stack gap={6} component="section" aria-label="Attempts">
      <Title order={3}>Attempts</Title>
      {rest && (
        <Text size="sm" c="dimmed">
          {rest}
        </Text>
      )}
      <Accordion variant="contained" multiple defaultValue={newestFirst.slice(0, 1).map(({ id }) => id)}>
        {newestFirst.map((attempt) => (
          <Accordion.Item key={attempt.id} value={attempt.id}>
            <Accordion.Control>
              <Group gap="sm" wrap="nowrap">
                <Text size="sm" c="dimmed" className="numeric" w={24}>
                  #{attempt.number}
                </Text>
                <Outcome attempt={attempt} />
                {attempt.trigger === 'MANUAL' && <Badge color="gray">Manual</Badge>}
                <Text size="xs" c="dimmed" ml="auto" pr="xs" component="div">
                  {formatMilliseconds(attempt.durationMs)} · <Time iso={attempt.startedAt} />
                </Text>
              </Group>
            </Accordion.Control>
            <Accordion.Panel>
              <Stack gap="sm">
                <Phases attempt={attempt} />
                <Facts
                  rows={[
                    ['Error', attempt.errorClass && <Code>{attempt.errorClass}</Code>],
                    ['Message', attempt.errorMessage],
                  ]}
                />
                {attempt.responseBody && (
                  <Code
                    block
                    className="json"
                    tabIndex={0}
                    role="region"
                    aria-label={`Response to attempt ${attempt.number}`}
                  >
                    {attempt.responseBody}
                  </Code>
                )}
                <Headers title="Request" first={requestLine(attempt)} headers={attempt.requestHeaders} />
                <Headers title="Response" first={attempt.statusCode} headers={attempt.responseHeaders} />
                {!attempt.responseBody && (
                  <Text size="xs" c="dimmed">
                    {whyNoBody(attempt)}
                  </Text>
                )}
              </Stack>
            </Accordion.Panel>
          </Accordion.Item>
        ))}
      </Accordion>
    </Stack>
  );
}

function whyNoMore(count: number, status: DeliveryStatus): string | undefined {
  if (status === 'SKIPPED') {
    return count === 0
      ? 'No request was sent, because the delivery was skipped. The reason is above.'
      : 'The delivery was skipped after these attempts. The reason is above.';
  }
  return count === 0 ? 'No attempts yet.' : undefined;
}

function whyNoBody({ isContentOmitted, statusCode }: Attempt): string {
  if (isContentOmitted) {
    return 'The request and the response weren’t stored because the account had reached its daily limit.';
  }
  return statusCode == null ? 'No response received.' : 'The response had no body.';
}

function Outcome({ attempt: { statusCode, errorClass } }: { attempt: Attempt }) {
  const text = statusCode ?? errorClass ?? 'Sent';
  return <Badge color={errorClass ? 'red' : 'teal'}>{text}</Badge>;
}

const PHASES = [
  { key: 'dnsMs', label: 'DNS', color: 'var(--mantine-color-grape-5)' },
  { key: 'connectMs', label: 'Connect', color: 'var(--mantine-color-orange-5)' },
  { key: 'tlsMs', label: 'TLS', color: 'var(--mantine-color-yellow-6)' },
  { key: 'firstByteMs', label: 'Time to first byte', color: 'var(--mantine-color-teal-6)' },
] as const;

/** An attempt's phases as a bar, and the same information as text. */
function Phases({ attempt }: { attempt: Attempt }) {
  const measured = PHASES.map(({ key, ...phase }) => ({ ...phase, milliseconds: attempt[key] ?? 0 })).filter(
    ({ milliseconds }) => milliseconds > 0,
  );
  if (measured.length === 0) return null;
  return (
    <div>
      <div className="phases" aria-hidden="true">
        {measured.map(({ label, color, milliseconds }) => (
          <span key={label} style={{ flexGrow: milliseconds, background: color }} />
        ))}
      </div>
      <Text size="xs" c="dimmed">
        {measured.map(({ label, milliseconds }) => `${label} ${formatMilliseconds(milliseconds)}`).join(' · ')}
      </Text>
    </div>
  );
}

function requestLine({ requestMethod, requestUrl }: Attempt): string | undefined {
  return requestMethod && requestUrl ? `${requestMethod} ${requestUrl}` : undefined;
}

function Headers(props: { title: string; first: string | number | null | undefined; headers: unknown }) {
  const { title, first, headers } = props;
  if (typeof headers !== 'object' || headers === null) return null;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
  return (
    <details>
      <summary>{title} headers</summary>
      <Code block className="json" tabIndex={0} role="region" aria-label={`${title} headers`}>
        {[first, ...lines].filter((line) => line != null).join('\n')}
      </Code>
    </details>
  );
}
