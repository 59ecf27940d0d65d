import { Anchor, Badge, Button, Code, Drawer, Group, Stack, Text } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useEffect, useEffectEvent } from 'react';
import { useQuery } from 'urql';
import { Link } from 'wouter';
import {
  OneDeliveryDocument,
  type OneDeliveryQuery,
  ResendDeliveryDocument,
} from '../../../generated/console/deliveries.ts';
import { toProblem } from '../../api/problem.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { Copy } from '../../parts/copy-button.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { DeliveryStatusBadge } from '../../parts/delivery-status.tsx';
import type { Destination } from '../../parts/destinations.ts';
import { Facts } from '../../parts/facts.tsx';
import { formatEventType } from '../../parts/format.ts';
import { StepButtons, type Steps } from '../../parts/item-steps.tsx';
import { Loading } from '../../parts/loading.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { ActionForRole } from '../../parts/role.tsx';
import { Time } from '../../parts/time.tsx';
import { announceResent } from './announce-resent.ts';
import { Attempts } from './attempts.tsx';
import { Explanation } from './explanation.tsx';
import type { DeliveryRow } from './feed.ts';
import { RequestBody } from './request-body.tsx';

type Delivery = NonNullable<NonNullable<OneDeliveryQuery['project']>['delivery']>;

/** A delivery's details, kept up to date by the page's feed. */
export function DeliveryDrawer(props: {
  deliveryId: string;
  /** The delivery's latest version in the feed. */
  latest: DeliveryRow | undefined;
  destinations: ReadonlyMap<string, Destination>;
  steps: Steps;
  onResent(row: DeliveryRow): void;
  onClose(): void;
}) {
  const { deliveryId, latest, destinations, steps, onResent, onClose } = props;
  const project = useProject();
  const variables = { projectId: project.id, id: deliveryId };
  const [{ data, error, fetching }, ask] = useQuery({
    query: OneDeliveryDocument,
    variables,
    requestPolicy: 'cache-and-network',
  });
  const found = data?.project?.delivery;
  // While another delivery is loading, the query still returns the previous one.
  const delivery = found?.id === deliveryId ? found : undefined;

  const catchUp = useEffectEvent((updatedAt: string) => {
    if (delivery && updatedAt > delivery.updatedAt) ask({ requestPolicy: 'network-only' });
  });
  const changedAt = latest?.updatedAt;
  useEffect(() => {
    if (changedAt) catchUp(changedAt);
  }, [changedAt]);

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
      <Stack gap="lg">
        <StepButtons steps={steps} what="delivery" />
        {error && <ProblemNotice problem={toProblem(error)} onRetry={() => ask({ requestPolicy: 'network-only' })} />}
        {!delivery && fetching && <Loading />}
        {!delivery && !fetching && !error && (
          <Text size="sm" c="dimmed">
            Delivery not found. It may be older than the retention period.
          </Text>
        )}
        {delivery && <Details key={delivery.id} delivery={delivery} destinations={destinations} onResent={onResent} />}
      </Stack>
    </Drawer>
  );
}

function Details(props: {
  delivery: Delivery;
  destinations: ReadonlyMap<string, Destination>;
  onResent(row: DeliveryRow): void;
}) {
  const { delivery, destinations, onResent } = props;
  const project = useProject();
  const { submit, problem, isBusy } = useSubmit(ResendDeliveryDocument);
  async function resend() {
    const result = await submit({ input: { id: delivery.id, projectId: project.id } });
    if (!result?.resendDelivery) return;
    onResent(result.resendDelivery.delivery);
    announceResent(result.resendDelivery.delivery);
  }
  return (
    <Stack gap="lg">
      {problem && <ProblemNotice problem={problem} />}
      <Group justify="space-between">
        <Group gap="xs">
          <Code fz="sm">{formatEventType(delivery.eventType)}</Code>
          <DeliveryStatusBadge delivery={delivery} />
          {delivery.event.test && <Badge color="gray">Test</Badge>}
        </Group>
        <ActionForRole lowest="DEVELOPER">
          <Button
            size="xs"
            leftSection={<IconRefresh size={14} />}
            onClick={resend}
            loading={isBusy}
            disabled={delivery.status === 'RUNNING'}
          >
            Resend
          </Button>
        </ActionForRole>
      </Group>
      <Facts
        rows={[
          ['Destination', destinations.get(delivery.webhookId ?? delivery.connectorId ?? '')?.name],
          ['Reason', delivery.explanation.summary.includes(delivery.reason ?? '') ? null : delivery.reason],
          ['Next attempt', delivery.nextAttemptAt && <Time iso={delivery.nextAttemptAt} />],
          ['Created', <Time key="created" iso={delivery.createdAt} />],
          ['Completed', delivery.completedAt && <Time iso={delivery.completedAt} />],
          ['Delivery ID', <Id key="delivery" id={delivery.id} what="delivery ID" />],
          [
            'Event ID (webhook-id)',
            <Id
              key="event"
              id={delivery.eventId}
              what="event ID"
              href={`/projects/${project.id}/events/${delivery.eventId}`}
            />,
          ],
        ]}
      />
      <Explanation explanation={delivery.explanation} />
      <Attempts attempts={delivery.attempts} status={delivery.status} />
      <RequestBody body={delivery.explanation.requestBody} isRebuilt={delivery.connectorId != null} />
    </Stack>
  );
}

/** An ID with a copy button. With `href`, it is a link to the item's own page. */
function Id({ id, what, href }: { id: string; what: string; href?: string }) {
  const code = (
    <Code bg="transparent" p={0}>
      {id}
    </Code>
  );
  return (
    <Group gap={4} wrap="nowrap">
      {href ? (
        <Anchor component={Link} href={href}>
          {code}
        </Anchor>
      ) : (
        code
      )}
      <Copy value={id} what={what} />
    </Group>
  );
}
