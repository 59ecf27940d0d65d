import { Accordion, Badge, Code, Group, Stack, Text, Title } from '@mantine/core';
import type { OneDeliveryQuery } from '../../generated/console/deliveries.ts';
import { Facts } from '../parts/facts.tsx';
import { formatMilliseconds } from '../parts/format.ts';
import { Time } from '../parts/time.tsx';

type Attempt = NonNullable<NonNullable<OneDeliveryQuery['project']>['delivery']>['attempts'][number];

/** The attempts of a delivery, the last one first and open. */
export function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  const newestFirst = attempts.toReversed();
  return (
    <Stack gap={6} component="section" aria-label="Attempts">
      <Title order={3}>Attempts</Title>
      {newestFirst.length === 0 && (
        <Text size="sm" c="dimmed">
          It has not been sent yet.
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
                {attempt.trigger === 'MANUAL' && <Badge color="gray">by hand</Badge>}
                <Text size="xs" c="dimmed" ml="auto" pr="xs" component="div">
                  {formatMilliseconds(attempt.durationMs)} · <Time iso={attempt.startedAt} />
                </Text>
              </Group>
            </Accordion.Control>
            <Accordion.Panel>
              <Stack gap="sm">
                <Facts
                  rows={[
                    ['Failure', attempt.errorClass && <Code>{attempt.errorClass}</Code>],
                    ['Meaning', attempt.errorMessage],
                  ]}
                />
                {attempt.responseBody && (
                  <Code
                    block
                    className="json"
                    tabIndex={0}
                    role="region"
                    aria-label={`Answer to attempt ${attempt.number}`}
                  >
                    {attempt.responseBody}
                  </Code>
                )}
                {!attempt.responseBody && (
                  <Text size="xs" c="dimmed">
                    {attempt.statusCode == null ? 'There was no answer.' : 'The answer had no body.'}
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

function Outcome({ attempt: { statusCode, errorClass } }: { attempt: Attempt }) {
  const text = statusCode ?? errorClass ?? 'sent';
  return <Badge color={errorClass ? 'red' : 'teal'}>{text}</Badge>;
}
