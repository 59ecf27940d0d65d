import { IconHistory } from '@tabler/icons-react';
import { useQuery } from 'urql';
import { type AuditFilter, AuditLogDocument } from '../../../generated/console/audit-log.ts';
import { AUDIT_COLUMNS } from '../../parts/audit-columns.tsx';
import { useProject } from '../../parts/current-project.tsx';
import { DataTable, Pager } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ExportMenu } from '../../parts/export-menu.tsx';
import { FilterBar, NoMatches } from '../../parts/filter-bar.tsx';
import { Page, Panel } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';
import { useListFilters } from '../../parts/use-list-filters.ts';
import { usePaging } from '../../parts/use-paging.ts';

export function AuditLogPage() {
  const project = useProject();
  const filters = useListFilters<AuditFilter>('audit-log');
  const paging = usePaging();
  const variables = { projectId: project.id, filter: filters.filter, ...paging.variables };
  const [{ data, error }, reload] = useQuery({
    query: AuditLogDocument,
    variables,
    requestPolicy: 'cache-and-network',
  });
  const { atFilters, problem } = filters.split(error);
  return (
    <Page
      title="Audit log"
      lead="A permanent record of who changed what. Entries are kept even after the resource is deleted."
      actions={<ExportMenu what="audit-log" filters={filters.exported} />}
    >
      {problem && <ProblemNotice problem={problem} onRetry={reload} />}
      <Panel flush>
        <FilterBar filters={filters} errors={atFilters} />
        <DataTable
          caption="Audit log"
          columns={AUDIT_COLUMNS}
          rows={data?.project?.auditLog.nodes ?? (error ? null : undefined)}
          keyOf={({ id }) => id}
          empty={
            <NoMatches what="changes" filters={filters}>
              <EmptyState icon={IconHistory} title="No changes yet">
                Changes to the project appear here, along with who made them. Tool calls from AI applications also
                appear here.
              </EmptyState>
            </NoMatches>
          }
        />
        <Pager pageInfo={data?.project?.auditLog.pageInfo} paging={paging} />
      </Panel>
    </Page>
  );
}
