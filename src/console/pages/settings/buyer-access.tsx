import { Button, Group, NumberInput, Select, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from 'urql';
import {
  BuyerRulesDocument,
  type BuyerRuleValuesFragment,
  UpdateBuyerRulesDocument,
} from '../../../generated/console/buyers.ts';
import { toProblem } from '../../api/problem.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { changedFields } from '../../parts/changed-fields.ts';
import { useProject } from '../../parts/current-project.tsx';
import { useFormDraft } from '../../parts/drafts.ts';
import { FormProblem, listError, useServerErrors } from '../../parts/form.tsx';
import { Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { showDone } from '../../parts/toast.tsx';

const PERIODS = [
  { value: 'HOUR', label: 'Hour' },
  { value: 'DAY', label: 'Day (UTC)' },
  { value: 'MONTH', label: 'Month (UTC)' },
];
const MAX_ROWS = 8;

/** Which wallets may pay the project, and how much each of them may buy. */
export function BuyerAccess() {
  const { id: projectId } = useProject();
  const [{ data, error }, reload] = useQuery({ query: BuyerRulesDocument, variables: { projectId } });
  const rules = data?.project?.buyerRules;
  return (
    <Panel title="Buyer access">
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      {rules && <RulesForm key={projectId} projectId={projectId} rules={rules} />}
    </Panel>
  );
}

function RulesForm({ projectId, rules }: { projectId: string; rules: BuyerRuleValuesFragment }) {
  const form = useForm({ initialValues: valuesOf(rules) });
  const { submit, problem, isBusy } = useSubmit(UpdateBuyerRulesDocument);
  useServerErrors(form, problem);
  useFormDraft('buyers', form);
  const save = form.onSubmit(async (values) => {
    const changes = changedFields(inputOf(values), inputOf(form.getInitialValues()));
    const saved = await submit({ input: { projectId, ...changes } });
    const stored = saved?.updateBuyerRules?.buyerRules;
    if (!stored) return;
    // Show what the service stored: addresses with their checksums, and each of them once.
    const shown = valuesOf(stored);
    form.setInitialValues(shown);
    form.setValues(shown);
    showDone('Changes saved');
  });
  return (
    <form onSubmit={save}>
      <Stack gap="md" maw={560}>
        <FormProblem form={form} problem={problem} />
        <Textarea
          label="Allowed wallets"
          description="One address per line. If there are any, only these wallets can pay."
          placeholder="Every wallet"
          autosize
          minRows={2}
          maxRows={MAX_ROWS}
          spellCheck={false}
          {...form.getInputProps('allowedWallets')}
          error={listError(form, 'allowedWallets')}
        />
        <Textarea
          label="Denied wallets"
          description="One address per line. Payments from these wallets are refused before your API is called, and nothing is charged."
          placeholder="None"
          autosize
          minRows={2}
          maxRows={MAX_ROWS}
          spellCheck={false}
          {...form.getInputProps('deniedWallets')}
          error={listError(form, 'deniedWallets')}
        />
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <NumberInput
            label="Requests per wallet"
            placeholder="No limit"
            min={1}
            allowDecimal={false}
            clampBehavior="none"
            {...form.getInputProps('maxRequests')}
          />
          <TextInput
            label="Spend per wallet (USD)"
            placeholder="No limit"
            spellCheck={false}
            {...form.getInputProps('maxSpendUsd')}
          />
          <Select label="Period" data={PERIODS} allowDeselect={false} {...form.getInputProps('period')} />
        </SimpleGrid>
        <Group>
          <Button type="submit" loading={isBusy} disabled={!form.isDirty()}>
            Save buyer access
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function walletsIn(text: string): string[] {
  return text.split(/[\s,;]+/).filter(Boolean);
}

type Values = ReturnType<typeof valuesOf>;

function inputOf({ allowedWallets, deniedWallets, period, maxRequests, maxSpendUsd }: Values) {
  return {
    allowedWallets: walletsIn(allowedWallets),
    deniedWallets: walletsIn(deniedWallets),
    period,
    maxRequests: maxRequests === '' ? null : Number(maxRequests),
    maxSpendUsd: maxSpendUsd.trim() || null,
  };
}

function valuesOf({ allowedWallets, deniedWallets, period, maxRequests, maxSpendUsd }: BuyerRuleValuesFragment) {
  return {
    allowedWallets: allowedWallets.join('\n'),
    deniedWallets: deniedWallets.join('\n'),
    period,
    maxRequests: (maxRequests ?? '') as number | string,
    maxSpendUsd: maxSpendUsd ?? '',
  };
}
