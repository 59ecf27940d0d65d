import { IconHistory } from '@tabler/icons-react';
import { useQuery } from 'urql';
import { AccountLogDocument } from '../../../generated/console/limits.ts';
import { toProblem } from '../../api/problem.ts';
import { AUDIT_COLUMNS } from '../../parts/audit-columns.tsx';
import { DataTable, Pager } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { usePaging } from '../../parts/use-paging.ts';

/** Changes to the account itself, such as a new tier. Changes to projects are in the projects' audit logs. */
export function AccountActivity() {
  const paging = usePaging();
  const [{ data, error }, reload] = useQuery({
    query: AccountLogDocument,
    variables: paging.variables,
    requestPolicy: 'cache-and-network',
  });
  const log = data?.viewer?.accountLog;
  return (
    <Panel title="Account activity" flush>
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      <DataTable
        caption="Account activity"
        columns={AUDIT_COLUMNS}
        rows={log?.nodes ?? (error ? null : undefined)}
        keyOf={({ id }) => id}
        empty={
          <EmptyState icon={IconHistory} title="No activity yet">
            Changes that an operator makes to your tier or rate limit appear here, as do projects that you transfer.
          </EmptyState>
        }
      />
      <Pager pageInfo={log?.pageInfo} paging={paging} />
    </Panel>
  );
}
