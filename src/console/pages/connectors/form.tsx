import { Alert, Anchor, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconExternalLink, IconKey, IconPlugConnected, IconPlugConnectedX } from '@tabler/icons-react';
import {
  CreateConnectorDocument,
  type EventTypeFilter,
  StartConnectorAuthorizationDocument,
  UpdateConnectorDocument,
} from '../../../generated/console/connectors.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { changedFields } from '../../parts/changed-fields.ts';
import { useProject } from '../../parts/current-project.tsx';
import { DestinationFields, DestinationName } from '../../parts/destination-fields.tsx';
import { connectAgain, whyPaused } from '../../parts/destination-status.tsx';
import { checkFilter, destinationInput, destinationValues } from '../../parts/destination-values.ts';
import { FormProblem, useServerErrors } from '../../parts/form.tsx';
import { ForRole } from '../../parts/role.tsx';
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

/** The user doesn't enter `grant`. It is set when they connect an account. */
const isEntered = ({ name }: ConnectorInfo['fields'][number]) => name !== 'grant';

/** Clearing a stored field removes it (`null`). Fields that were already empty are left out. */
function configInput(values: ConfigValues, before: ConfigValues): Record<string, unknown> {
  const isEmpty = (value: string | string[] | undefined) => value === undefined || value.length === 0;
  return Object.fromEntries(
    Object.entries(values)
      .filter(([name, value]) => !isEmpty(value) || !isEmpty(before[name]))
      .map(([name, value]) => [name, isEmpty(value) ? null : value]),
  );
}

/** Secrets that must be entered again because a change to another field affects where they are sent. */
function secretsNeededAgain({ fields }: ConnectorInfo, values: ConfigValues, before: ConfigValues) {
  const changesAddress = fields.some(({ name, decidesAddress }) => decidesAddress && values[name] !== before[name]);
  const isUntouched = (name: string) => before[name] !== '' && values[name] === before[name];
  return changesAddress ? fields.filter(({ name, secret }) => secret && isUntouched(name)) : [];
}

/** A connector's form, generated from the API's description of its type. */
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
    initialValues: { config: before, ...destinationValues(connector) },
    validate: (values) => {
      const needed = connector ? secretsNeededAgain(info, values.config, before) : [];
      const errors = needed.map(({ name }) => [`config.${name}`, 'Enter this again because the address has changed.']);
      return { ...Object.fromEntries(errors), filter: checkFilter(values.filter) };
    },
  });
  const neededAgain = connector ? secretsNeededAgain(info, form.values.config, before) : [];
  const creation = useSubmit(CreateConnectorDocument);
  const change = useSubmit(UpdateConnectorDocument);
  const start = useSubmit(StartConnectorAuthorizationDocument);
  const { problem = start.problem, isBusy } = connector ? change : creation;
  useServerErrors(form, problem);
  const save = form.onSubmit(async ({ config, ...subscription }) => {
    const given = configInput(config, before);
    const givenChanges = changedFields(given, configInput(before, before));
    const values = destinationInput<EventTypeFilter>(subscription);
    const changes = changedFields(values, destinationInput<EventTypeFilter>(destinationValues(connector)));
    const saved = connector
      ? await change.submit({ input: { id: connector.id, config: givenChanges, ...changes } })
      : await creation.submit({ input: { projectId: project.id, type: info.type, config: given, ...values } });
    if (saved) onSaved();
  });
  /** Leaves validation to the server, because a connected account replaces credentials that the form requires. */
  async function connect() {
    const { config, ...subscription } = form.getValues();
    const mistake = checkFilter(subscription.filter);
    if (mistake) return form.setFieldError('filter', mistake);
    const values = { config: configInput(config, before), ...destinationInput<EventTypeFilter>(subscription) };
    const place = { projectId: project.id, type: info.type, ...(connector && { connectorId: connector.id }) };
    const started = await start.submit({ input: { ...place, ...values } });
    if (started?.startConnectorAuthorization)
      window.location.assign(started.startConnectorAuthorization.authorizationUrl);
  }
  const isConnected = before.grant !== undefined && before.grant !== '';
  return (
    <Modal opened onClose={onClose} title={info.title} size="lg">
      <ForRole lowest="DEVELOPER">
        <form onSubmit={save}>
          <Stack gap="md">
            <Text size="sm" c="dimmed">
              {info.description}{' '}
              <Anchor href={info.documentationUrl} target="_blank" rel="noreferrer" underline="always">
                How to get credentials <IconExternalLink size={13} aria-label="(opens in a new tab)" />
              </Anchor>
            </Text>
            {connector?.isPaused && (
              <Alert color="orange" icon={<IconPlugConnectedX size={18} />} title="Paused">
                {whyPaused(connector)}
              </Alert>
            )}
            {connector && connectAgain(connector) && (
              <Alert color="orange" icon={<IconKey size={18} />} title="Reconnect this account">
                {connectAgain(connector)}
              </Alert>
            )}
            {neededAgain.length > 0 && (
              <Alert color="orange" icon={<IconKey size={18} />} title="You’re changing the address">
                Enter these again so they can be sent to the new address:{' '}
                {neededAgain.map(({ title }) => title).join(', ')}.
              </Alert>
            )}
            <FormProblem form={form} problem={problem} />
            {info.connectWith && (
              <Group justify="space-between">
                <Text size="sm">
                  {isConnected ? 'An account is connected.' : 'Connect your account instead of entering credentials.'}
                </Text>
                <Button
                  variant="light"
                  leftSection={<IconPlugConnected size={16} />}
                  loading={start.isBusy}
                  onClick={() => void connect()}
                >
                  {isConnected ? `Reconnect ${info.connectWith}` : `Connect ${info.connectWith}`}
                </Button>
              </Group>
            )}
            {info.fields.filter(isEntered).map((field) => (
              <ConfigField key={field.name} field={field} input={form.getInputProps(`config.${field.name}`)} />
            ))}
            <DestinationName form={form} fallback={info.title} />
            <DestinationFields form={form} />
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                Cancel
              </Button>
              <Button type="submit" loading={isBusy}>
                {connector ? 'Save changes' : 'Create connector'}
              </Button>
            </Group>
          </Stack>
        </form>
      </ForRole>
    </Modal>
  );
}
