import { Alert, Anchor, Badge, Code, Drawer, Group, Skeleton, Stack, Text, Timeline } from '@mantine/core';
import { IconExternalLink, IconInfoCircle } from '@tabler/icons-react';
import { useQuery } from 'urql';
import { PaymentDocument, type PaymentQuery } from '../../../generated/console/payments.ts';
import { toProblem } from '../../api/problem.ts';
import { Copy } from '../../parts/copy-button.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { Facts } from '../../parts/facts.tsx';
import { formatEnum, formatMilliseconds, formatTime, formatUsd } from '../../parts/format.ts';
import { PAYMENT_STATUS_COLORS } from '../../parts/payment-status.ts';
import { ProblemNotice } from '../../parts/problem-notice.tsx';

type Payment = NonNullable<NonNullable<PaymentQuery['project']>['payment']>;

/** One payment: its status, steps, and transaction. */
export function PaymentDrawer({ paymentId, onClose }: { paymentId: string; onClose(): void }) {
  const project = useProject();
  const [{ data, error }] = useQuery({
    query: PaymentDocument,
    variables: { projectId: project.id, paymentId },
    requestPolicy: 'cache-and-network',
  });
  const payment = data?.project?.payment;
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title="Payment"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {error && <ProblemNotice problem={toProblem(error)} />}
      {!data && !error && <Skeleton height={200} />}
      {data && !payment && <Text size="sm">Payment not found.</Text>}
      {payment && <Details payment={payment} />}
    </Drawer>
  );
}

const UNKNOWN_ADVICE =
  'The settlement was sent, but its outcome isn’t known yet. Tollgate keeps checking the chain until the authorization expires. You don’t need to do anything.';

function Details({ payment }: { payment: Payment }) {
  const { status, failureReason, failureMessage, failureStage } = payment;
  return (
    <Stack gap="md">
      <Group gap="sm">
        <Text fz={22} fw={600}>
          {formatUsd(payment.amountUsd)}
        </Text>
        <Badge color={PAYMENT_STATUS_COLORS[status]}>{formatEnum(status)}</Badge>
      </Group>
      {(failureReason || status === 'UNKNOWN') && (
        <Alert
          color={PAYMENT_STATUS_COLORS[status]}
          icon={<IconInfoCircle size={18} />}
          title={failureStage ? `${formatEnum(failureStage)}: ${failureReason}` : failureReason}
        >
          {status === 'UNKNOWN' ? UNKNOWN_ADVICE : failureMessage}
        </Alert>
      )}
      <Steps payment={payment} />
      <Facts
        rows={[
          ['Payment ID', <Copyable key="id" value={payment.id} what="payment ID" />],
          ['Request', <Code key="r">{`${payment.method} ${payment.endpointPath}`}</Code>],
          ['Payer', <Copyable key="payer" value={payment.payer} what="payer address" />],
          ['Paid to', <Copyable key="payTo" value={payment.payTo} what="wallet address" />],
          ['Asset', `${payment.asset} on ${payment.network}`],
          ['Transaction', payment.transactionHash && <Transaction key="tx" payment={payment} />],
          ['Nonce', <Copyable key="nonce" value={payment.nonce} what="nonce" />],
          ['Protocol', `x402 version ${payment.x402Version}`],
          ['Upstream status', payment.upstreamStatusCode && String(payment.upstreamStatusCode)],
          [
            'Upstream response time',
            payment.upstreamDurationMs !== null && formatMilliseconds(payment.upstreamDurationMs),
          ],
          ['Valid until', formatTime(payment.validBefore)],
        ]}
      />
    </Stack>
  );
}

function Copyable({ value, what }: { value: string; what: string }) {
  return (
    <Group gap={4} wrap="nowrap">
      <Code bg="transparent" p={0} style={{ overflowWrap: 'anywhere' }}>
        {value}
      </Code>
      <Copy value={value} what={what} />
    </Group>
  );
}

function Transaction({ payment: { transactionHash, explorerUrl } }: { payment: Payment }) {
  if (!explorerUrl) return <Copyable value={transactionHash!} what="transaction hash" />;
  return (
    <Anchor href={explorerUrl} target="_blank" rel="noreferrer" style={{ overflowWrap: 'anywhere' }}>
      {transactionHash} <IconExternalLink size={13} aria-label="(opens in a new tab)" />
    </Anchor>
  );
}

function Steps({ payment }: { payment: Payment }) {
  const steps = [
    ['Presented', payment.createdAt],
    ['Verified', payment.verifiedAt],
    ['Upstream responded', payment.servedAt],
    ['Settled', payment.settledAt],
  ] as const;
  const done = steps.filter(([, time]) => time).length;
  return (
    <Timeline active={done - 1} bulletSize={14} lineWidth={2}>
      {steps.map(([title, time]) => (
        <Timeline.Item key={title} title={<Text size="sm">{title}</Text>}>
          <Text size="xs" c="dimmed">
            {time ? formatTime(time) : '–'}
          </Text>
        </Timeline.Item>
      ))}
    </Timeline>
  );
}
