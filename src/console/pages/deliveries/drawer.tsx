import { Badge, Button, Code, Drawer, Group, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconRefresh } from '@tabler/icons-react';
import { useEffect, useEffectEvent } from 'react';
import { useQuery } from 'urql';
import { OneDeliveryDocument, ResendDeliveryDocument } from '../../../generated/console/deliveries.ts';
import { toProblem } from '../../api/problem.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { Copy } from '../../parts/copy-button.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { DeliveryStatusBadge } from '../../parts/delivery-status.tsx';
import type { Destination } from '../../parts/destinations.ts';
import { Facts } from '../../parts/facts.tsx';
import { formatEventType } from '../../parts/format.ts';
import { JsonView } from '../../parts/json-view.tsx';
import { Loading } from '../../parts/loading.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { Time } from '../../parts/time.tsx';
import { Attempts } from './attempts.tsx';
import { Explanation } from './explanation.tsx';
import type { DeliveryRow } from './feed.ts';

/** A delivery's details, kept up to date by the page's feed. */
export function DeliveryDrawer(props: {
  deliveryId: string;
  /** The delivery's latest version in the feed. */
  latest: DeliveryRow | undefined;
  destinations: ReadonlyMap<string, Destination>;
  onResent(row: DeliveryRow): void;
  onClose(): void;
}) {
  const { deliveryId, latest, destinations, onResent, onClose } = props;
  const project = useProject();
  const variables = { projectId: project.id, id: deliveryId };
  const [{ data, error, fetching }, ask] = useQuery({
    query: OneDeliveryDocument,
    variables,
    requestPolicy: 'cache-and-network',
  });
  const { submit, problem, isBusy } = useSubmit(ResendDeliveryDocument);
  const delivery = data?.project?.delivery;

  const catchUp = useEffectEvent((updatedAt: string) => {
    if (delivery && updatedAt > delivery.updatedAt) ask({ requestPolicy: 'network-only' });
  });
  const changedAt = latest?.updatedAt;
  useEffect(() => {
    if (changedAt) catchUp(changedAt);
  }, [changedAt]);

  async function resend() {
    const result = await submit({ input: { id: deliveryId, projectId: project.id } });
    if (!result?.resendDelivery) return;
    onResent(result.resendDelivery.delivery);
    notifications.show({ message: 'Resending delivery', color: 'teal' });
  }

  const isRunning = delivery?.status === 'RUNNING';
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={
        <Text fw={600} component="h2" m={0} fz="md">
          Delivery
        </Text>
      }
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {error && <ProblemNotice problem={toProblem(error)} onRetry={() => ask({ requestPolicy: 'network-only' })} />}
      {!delivery && fetching && <Loading />}
      {!delivery && !fetching && !error && (
        <Text size="sm" c="dimmed">
          Delivery not found. It may be older than the retention period.
        </Text>
      )}
      {delivery && (
        <Stack gap="lg">
          {problem && <ProblemNotice problem={problem} />}
          <Group justify="space-between">
            <Group gap="xs">
              <Code fz="sm">{formatEventType(delivery.eventType)}</Code>
              <DeliveryStatusBadge status={delivery.status} isRetrying={delivery.attemptCount > 0} />
              {delivery.event.test && <Badge color="gray">Test</Badge>}
            </Group>
            <Button
              size="xs"
              leftSection={<IconRefresh size={14} />}
              onClick={resend}
              loading={isBusy}
              disabled={isRunning}
            >
              Resend
            </Button>
          </Group>
          <Facts
            rows={[
              ['Destination', destinations.get(delivery.webhookId ?? delivery.connectorId ?? '')?.name],
              ['Reason', delivery.explanation.summary.includes(delivery.reason ?? '') ? null : delivery.reason],
              ['Next attempt', delivery.nextAttemptAt && <Time iso={delivery.nextAttemptAt} />],
              ['Created', <Time key="created" iso={delivery.createdAt} />],
              ['Completed', delivery.completedAt && <Time iso={delivery.completedAt} />],
              ['Delivery ID', <Id key="delivery" id={delivery.id} what="delivery ID" />],
              ['Event ID (webhook-id)', <Id key="event" id={delivery.eventId} what="event ID" />],
            ]}
          />
          <Explanation explanation={delivery.explanation} />
          <Attempts attempts={delivery.attempts} />
          <JsonView
            title="Payload"
            value={{
              id: delivery.event.id,
              type: formatEventType(delivery.event.type),
              timestamp: delivery.event.timestamp,
              projectId: project.id,
              ...(delivery.event.test && { test: true }),
              data: delivery.event.data,
            }}
          />
        </Stack>
      )}
    </Drawer>
  );
}

function Id({ id, what }: { id: string; what: string }) {
  return (
    <Group gap={4} wrap="nowrap">
      <Code bg="transparent" p={0}>
        {id}
      </Code>
      <Copy value={id} what={what} />
    </Group>
  );
}
