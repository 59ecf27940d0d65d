import { Alert, Anchor, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconExternalLink, IconKey, IconPlugConnectedX } from '@tabler/icons-react';
import {
  CreateConnectorDocument,
  type EventTypeFilter,
  UpdateConnectorDocument,
} from '../../../generated/console/connectors.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { useProject } from '../../parts/current-project.tsx';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { checkFilter, subscriptionInput, subscriptionValues } from '../../parts/subscription.ts';
import { SubscriptionFields } from '../../parts/subscription-fields.tsx';
import { ConfigField } from './config-field.tsx';
import type { ConnectorInfo, ConnectorRow } from './rows.ts';

type ConfigValues = Record<string, string | string[]>;

function configValues(info: ConnectorInfo, connector: ConnectorRow | undefined): ConfigValues {
  const stored = (connector?.config ?? {}) as Record<string, unknown>;
  const storedValue = ({ name, kind }: ConnectorInfo['fields'][number]) => {
    const value = stored[name];
    if (kind === 'list') return Array.isArray(value) ? value.map(String) : [];
    return value === undefined || value === null ? '' : String(value);
  };
  return Object.fromEntries(info.fields.map((field) => [field.name, storedValue(field)]));
}

/** A field that was emptied is removed when there was something to remove, and left out otherwise. */
function configInput(values: ConfigValues, before: ConfigValues): Record<string, unknown> {
  const isEmpty = (value: string | string[] | undefined) => value === undefined || value.length === 0;
  return Object.fromEntries(
    Object.entries(values)
      .filter(([name, value]) => !isEmpty(value) || !isEmpty(before[name]))
      .map(([name, value]) => [name, isEmpty(value) ? null : value]),
  );
}

/** The secrets that are not typed in although what is typed in sends them somewhere else. */
function secretsNeededAgain({ fields }: ConnectorInfo, values: ConfigValues, before: ConfigValues) {
  const isMoved = fields.some(({ name, decidesAddress }) => decidesAddress && values[name] !== before[name]);
  const isUntouched = (name: string) => before[name] !== '' && values[name] === before[name];
  return isMoved ? fields.filter(({ name, secret }) => secret && isUntouched(name)) : [];
}

/** The form of a connector, drawn from what the service says about its type. */
export function ConnectorForm(props: {
  info: ConnectorInfo;
  connector?: ConnectorRow;
  onClose(): void;
  onSaved(): void;
}) {
  const { info, connector, onClose, onSaved } = props;
  const project = useProject();
  const before = configValues(info, connector);
  const form = useForm({
    initialValues: { config: before, ...subscriptionValues(connector) },
    validate: (values) => {
      const needed = connector ? secretsNeededAgain(info, values.config, before) : [];
      const errors = needed.map(({ name }) => [`config.${name}`, 'Enter this again: it would go to another address.']);
      return { ...Object.fromEntries(errors), filter: checkFilter(values.filter) };
    },
  });
  const neededAgain = connector ? secretsNeededAgain(info, form.values.config, before) : [];
  const creation = useSubmit(CreateConnectorDocument);
  const change = useSubmit(UpdateConnectorDocument);
  const { problem, isBusy } = connector ? change : creation;
  useServerErrors(form, problem);
  const save = form.onSubmit(async ({ config, ...subscription }) => {
    const values = { config: configInput(config, before), ...subscriptionInput<EventTypeFilter>(subscription) };
    const saved = connector
      ? await change.submit({ input: { id: connector.id, ...values } })
      : await creation.submit({ input: { projectId: project.id, type: info.type, ...values } });
    if (saved) onSaved();
  });
  return (
    <Modal opened onClose={onClose} title={info.title} size="lg">
      <form onSubmit={save}>
        <Stack gap="md">
          <Text size="sm" c="dimmed">
            {info.description}{' '}
            <Anchor href={info.documentationUrl} target="_blank" rel="noreferrer" underline="always">
              How to get the credential <IconExternalLink size={13} aria-label="opens in a new tab" />
            </Anchor>
          </Text>
          {connector?.pausedReason && (
            <Alert color="orange" icon={<IconPlugConnectedX size={18} />} title="Paused">
              {connector.pausedReason} Deliveries are held until you save this form or switch the connector on.
            </Alert>
          )}
          {neededAgain.length > 0 && (
            <Alert color="orange" icon={<IconKey size={18} />} title="You are changing the address">
              Enter these again, so that nobody without them can have them sent elsewhere:{' '}
              {neededAgain.map(({ title }) => title).join(', ')}.
            </Alert>
          )}
          <FormProblem form={form} problem={problem} />
          {info.fields.map((field) => (
            <ConfigField key={field.name} field={field} input={form.getInputProps(`config.${field.name}`)} />
          ))}
          <SubscriptionFields form={form} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isBusy}>
              {connector ? 'Save' : 'Create connector'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
