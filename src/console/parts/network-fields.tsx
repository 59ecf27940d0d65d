import { MultiSelect, Radio, Stack } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useQuery } from 'urql';
import { PaymentNetworksDocument, type PaymentNetworksQuery } from '../../generated/console/networks.ts';

export type Mode = NonNullable<PaymentNetworksQuery['paymentNetworks']>[number]['mode'];

const MODES = [
  { value: 'LIVE', label: 'Live', description: 'Buyers pay with real money.' },
  { value: 'TEST', label: 'Test', description: 'Buyers pay with test money, which has no value.' },
] as const;

/** The networks that the server accepts payments on, preferred first. Empty while they are loading. */
export function usePaymentNetworks(): NonNullable<PaymentNetworksQuery['paymentNetworks']> {
  const [{ data }] = useQuery({ query: PaymentNetworksDocument });
  return data?.paymentNetworks ?? [];
}

/** The modes that a new project can have, starting with the default. */
export function useModes(): Mode[] {
  const networks = usePaymentNetworks();
  return MODES.map(({ value }) => value).filter((mode) => networks.some((network) => network.mode === mode));
}

/** Chooses a new project's mode. Its networks depend on the mode, so changing the mode clears them. */
export function ModeField<Form extends { mode: Mode; networks: string[] }>({
  form,
}: {
  form: UseFormReturnType<Form>;
}) {
  return (
    <Radio.Group
      label="Mode"
      description="You can’t change this later."
      {...form.getInputProps('mode')}
      onChange={(mode) => form.setValues({ mode, networks: [] } as unknown as Partial<Form>)}
    >
      <Stack gap="xs" mt="xs">
        {MODES.map((mode) => (
          <Radio key={mode.value} {...mode} />
        ))}
      </Stack>
    </Radio.Group>
  );
}

/** Chooses the networks of a project in this mode. Shows nothing if there is only one network. */
export function NetworksField<Form extends { networks: string[] }>(props: {
  form: UseFormReturnType<Form>;
  mode: Mode | undefined;
}) {
  const { form, mode } = props;
  const possible = usePaymentNetworks().filter((network) => network.mode === mode);
  if (possible.length < 2) return null;
  return (
    <MultiSelect
      label="Networks"
      searchable
      description="The networks that buyers can pay on, in order of preference. Leave empty to accept all of them."
      data={possible.map(({ network, title }) => ({ value: network, label: title }))}
      {...form.getInputProps('networks')}
    />
  );
}
