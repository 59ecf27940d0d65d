import { Alert, Anchor, Badge, Code, Drawer, Group, Skeleton, Stack, Text, Timeline } from '@mantine/core';
import { IconExternalLink, IconInfoCircle } from '@tabler/icons-react';
import { useQuery } from 'urql';
import { PaymentDocument, type PaymentQuery } from '../../../generated/console/payments.ts';
import { toProblem } from '../../api/problem.ts';
import { Copy } from '../../parts/copy-button.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { Facts } from '../../parts/facts.tsx';
import { formatEnum, formatMilliseconds, formatTime, formatUsd } from '../../parts/format.ts';
import { StepButtons, type Steps } from '../../parts/item-steps.tsx';
import { usePaymentNetworks } from '../../parts/network-fields.tsx';
import { PAYMENT_STATUS_COLORS } from '../../parts/payment-status.ts';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { reasonSentence } from './reasons.ts';

type Payment = NonNullable<NonNullable<PaymentQuery['project']>['payment']>;

/** One payment: its status, steps, and transaction. */
export function PaymentDrawer({ paymentId, steps, onClose }: { paymentId: string; steps: Steps; onClose(): void }) {
  const project = useProject();
  const [{ data, error, fetching }] = useQuery({
    query: PaymentDocument,
    variables: { projectId: project.id, paymentId },
    requestPolicy: 'cache-and-network',
  });
  const found = data?.project?.payment;
  // While another payment is loading, the query still returns the previous one.
  const payment = found?.id === paymentId ? found : undefined;
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title="Payment"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack gap="md">
        <StepButtons steps={steps} what="payment" />
        {error && <ProblemNotice problem={toProblem(error)} />}
        {!payment && fetching && <Skeleton height={200} />}
        {!payment && !fetching && !error && <Text size="sm">Payment not found.</Text>}
        {payment && <Details payment={payment} />}
      </Stack>
    </Drawer>
  );
}

const STAGES = { VERIFY: 'Verification', UPSTREAM: 'Call to your API', SETTLE: 'Settlement' } as const;

const UNKNOWN_ADVICE =
  'The settlement was sent, but its outcome isn’t known yet. Tollgate keeps checking the chain until the authorization expires. You don’t need to do anything.';

const UNSERVED_ADVICE =
  'The buyer was charged before your API was called, and didn’t get a complete response. The buyer can retry once for free. Tollgate doesn’t refund payments automatically.';

function Details({ payment }: { payment: Payment }) {
  const { status, failureReason, failureMessage, failureStage, unservedReason } = payment;
  const reasonCode = failureReason ?? unservedReason;
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
          title={failureReason && (reasonSentence(failureReason) ?? failureReason)}
        >
          {status === 'UNKNOWN' ? UNKNOWN_ADVICE : failureMessage}
        </Alert>
      )}
      {unservedReason && (
        <Alert
          color="orange"
          icon={<IconInfoCircle size={18} />}
          title={`Not served: ${reasonSentence(unservedReason) ?? unservedReason}`}
        >
          {failureMessage} {UNSERVED_ADVICE}
        </Alert>
      )}
      <PaymentSteps payment={payment} />
      <Facts
        rows={[
          ['Payment ID', <Copyable key="id" value={payment.id} what="payment ID" />],
          ['Reason code', reasonCode && <Copyable key="reason" value={reasonCode} what="reason code" />],
          ['Failed during', failureStage && STAGES[failureStage]],
          ['Request', <Code key="r">{`${payment.method} ${payment.endpointPath}`}</Code>],
          ['Payer', <Copyable key="payer" value={payment.payer} what="payer address" />],
          ['Paid to', <Copyable key="payTo" value={payment.payTo} what="wallet address" />],
          ['Asset', payment.asset],
          ['Network', <NetworkName key="network" id={payment.network} />],
          ['Transaction', payment.transactionHash && <Transaction key="tx" payment={payment} />],
          ['Nonce', <Copyable key="nonce" value={payment.nonce} what="nonce" />],
          ['Protocol', `x402 version ${payment.x402Version}`],
          ['Charged', payment.settlement === 'BEFORE_REQUEST' ? 'Before the request' : 'After the response'],
          ['Upstream calls', payment.upstreamCallCount?.toString()],
          ['Payment identifier', payment.identifier],
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

function NetworkName({ id }: { id: string }) {
  const title = usePaymentNetworks().find(({ network }) => network === id)?.title;
  return (
    <>
      {title && `${title} `}
      <Code bg="transparent" p={0} c={title ? 'dimmed' : undefined}>
        {id}
      </Code>
    </>
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

function PaymentSteps({ payment }: { payment: Payment }) {
  const settled = ['Settled', payment.settledAt] as const;
  const isFirst = payment.settlement === 'BEFORE_REQUEST';
  const steps = [
    ['Presented', payment.createdAt] as const,
    ['Verified', payment.verifiedAt] as const,
    ...(isFirst ? [settled] : []),
    ['Upstream responded', payment.servedAt] as const,
    ...(isFirst ? [] : [settled]),
  ];
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
