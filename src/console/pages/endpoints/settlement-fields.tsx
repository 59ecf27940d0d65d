import { NumberInput, Radio, Stack } from '@mantine/core';
import type { GetInputPropsReturnType } from '@mantine/form';
import type { EndpointRow } from './rows.ts';

type Settlement = EndpointRow['settlement'];
type Fields = { settlement: Settlement; timeoutSeconds: number | '' };

const CHOICES = [
  ['AFTER_RESPONSE', 'After the response', 'Buyers pay only for successful responses. Responses can be up to 10 MB.'],
  [
    'BEFORE_REQUEST',
    'Before the request',
    'The response streams to the buyer as it arrives. If the request fails, the buyer can retry once for free.',
  ],
] as const satisfies [Settlement, string, string][];

/** The initial values of the fields. */
export function initialSettlement(endpoint?: EndpointRow): Fields {
  return {
    settlement: endpoint?.settlement ?? 'AFTER_RESPONSE',
    timeoutSeconds: endpoint?.timeoutSeconds ?? '',
  };
}

/** The values to send. An empty time limit means the default. */
export function settlementValues({ settlement, timeoutSeconds }: Fields) {
  return { settlement, timeoutSeconds: timeoutSeconds === '' ? null : timeoutSeconds };
}

/**
 * The form fields for when an endpoint charges, and for its time limit.
 *
 * @param props `settlement`: undefined if the endpoint can only charge after the response.
 */
export function SettlementFields(props: {
  settlement: GetInputPropsReturnType | undefined;
  timeoutSeconds: GetInputPropsReturnType;
}) {
  return (
    <>
      {props.settlement && (
        <Radio.Group label="When to charge" {...props.settlement}>
          <Stack gap="xs" mt="xs">
            {CHOICES.map(([value, label, description]) => (
              <Radio key={value} value={value} label={label} description={description} />
            ))}
          </Stack>
        </Radio.Group>
      )}
      <NumberInput
        label="Time limit (seconds)"
        description="How long to wait for the whole response, up to 60 seconds. If buyers are charged before the request, this limits the wait for the response headers and for each chunk, up to 600 seconds. Leave empty for the default of 60."
        min={1}
        max={600}
        clampBehavior="none"
        allowDecimal={false}
        placeholder="60"
        {...props.timeoutSeconds}
      />
    </>
  );
}
