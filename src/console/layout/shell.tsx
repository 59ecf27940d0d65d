import { Anchor, AppShell, Burger, Group, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type ReactNode, Suspense, useEffect } from 'react';
import { useQuery } from 'urql';
import { Link, Route, Switch } from 'wouter';
import { CurrentProjectDocument } from '../../generated/console/projects.ts';
import { toProblem } from '../api/problem.ts';
import { HELP_TOPICS } from '../pages/help-topics.ts';
import { PAGE_ROUTES } from '../pages/routes.tsx';
import { CurrentProjectContext } from '../parts/current-project.tsx';
import { HelpTopicContext } from '../parts/help-link.tsx';
import { lazyPart } from '../parts/lazy-part.ts';
import { Loading } from '../parts/loading.tsx';
import { Logo } from '../parts/logo.tsx';
import { ProblemNotice } from '../parts/problem-notice.tsx';
import { AccountBar } from './account-bar.tsx';
import { HoldBar } from './hold-bar.tsx';
import { Navigation } from './navigation.tsx';
import { NoticeBell, useUnreadNotices } from './notice-bell.tsx';
import { OfflineBar } from './offline-bar.tsx';
import { PageBoundary } from './page-boundary.tsx';
import { ProjectSwitcher } from './project-switcher.tsx';
import { TestBar } from './test-bar.tsx';
import { Unreachable } from './unreachable.tsx';

const ProjectsPage = lazyPart(() => import('../pages/projects/projects.tsx'), 'ProjectsPage');
const InvitationsPage = lazyPart(() => import('../pages/invitations/invitations.tsx'), 'InvitationsPage');
const NotFound = lazyPart(() => import('./not-found.tsx'), 'NotFound');
const ProjectNotFound = lazyPart(() => import('./project-not-found.tsx'), 'ProjectNotFound');
const SearchButton = lazyPart(() => import('./palette/search-button.tsx'), 'SearchButton');
const ConnectPage = lazyPart(() => import('../pages/connectors/connect-page.tsx'), 'ConnectPage');

type Account = { subject: string; onSignOut(): void };

/** The layout around every page once a user is signed in. */
export function Shell(account: Account) {
  return (
    <Switch>
      <Route path="/">
        <Frame account={account}>
          <HelpTopicContext value={HELP_TOPICS.projects}>
            <ProjectsPage />
          </HelpTopicContext>
        </Frame>
      </Route>
      <Route path="/connect">
        <Frame account={account}>
          <HelpTopicContext value={HELP_TOPICS.connect}>
            <ConnectPage />
          </HelpTopicContext>
        </Frame>
      </Route>
      <Route path="/invitations">
        <Frame account={account}>
          <HelpTopicContext value={HELP_TOPICS.invitations}>
            <InvitationsPage />
          </HelpTopicContext>
        </Frame>
      </Route>
      <Route path="/projects/:projectId/*?">
        {({ projectId }) => <ProjectFrame key={projectId} projectId={projectId} account={account} />}
      </Route>
      <Route>
        <Frame account={account}>
          <NotFound />
        </Frame>
      </Route>
    </Switch>
  );
}

function ProjectFrame({ projectId, account }: { projectId: string; account: Account }) {
  const [{ data, error, fetching }, reload] = useQuery({ query: CurrentProjectDocument, variables: { id: projectId } });
  const project = data?.project ?? undefined;
  const problem = error && toProblem(error);
  const retry = () => reload({ requestPolicy: 'network-only' });
  const unread = useUnreadNotices(projectId);
  const isMissing = !project && !fetching && !error;
  useDialogsMarked(project?.mode);
  return (
    <Frame
      account={account}
      {...(!isMissing && { projectId })}
      switcher={<ProjectSwitcher project={project} />}
      bell={<NoticeBell projectId={projectId} unread={unread} />}
    >
      {problem?.code === 'NO_RESPONSE' && !project && <Unreachable onRetry={retry} />}
      {problem && (problem.code !== 'NO_RESPONSE' || project) && <ProblemNotice problem={problem} onRetry={retry} />}
      {!project && fetching && <Loading />}
      {isMissing && <ProjectNotFound {...account} />}
      {project && (
        <CurrentProjectContext value={project}>
          {project.mode === 'TEST' && <TestBar />}
          <Switch>
            {PAGE_ROUTES.map(({ path, help, page: RoutePage }) => (
              <Route key={path} path={`/projects/:projectId${path}`}>
                <HelpTopicContext value={help}>
                  <RoutePage />
                </HelpTopicContext>
              </Route>
            ))}
            <Route>
              <NotFound />
            </Route>
          </Switch>
        </CurrentProjectContext>
      )}
    </Frame>
  );
}

/** Shows in every dialog's header whether this is a test project; see console.css. */
function useDialogsMarked(mode: 'TEST' | 'LIVE' | undefined): void {
  useEffect(() => {
    if (!mode) return undefined;
    document.documentElement.dataset.projectMode = mode;
    return () => {
      delete document.documentElement.dataset.projectMode;
    };
  }, [mode]);
}

function Frame(props: {
  account: Account;
  projectId?: string;
  switcher?: ReactNode;
  bell?: ReactNode;
  children: ReactNode;
}) {
  const { account, projectId, switcher, bell, children } = props;
  const [isOpen, { toggle, close }] = useDisclosure();
  return (
    <AppShell
      header={{ height: { base: 52, sm: 0 } }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'md', lg: 'xl' }}
    >
      <a href="#page" className="skip-link">
        Skip to content
      </a>
      <AppShell.Header hiddenFrom="sm" className="sidebar">
        <Group h="100%" px="md" justify="space-between">
          <Logo />
          <Group gap="xs">
            {bell}
            <Burger opened={isOpen} onClick={toggle} size="sm" aria-label="Navigation" aria-expanded={isOpen} />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" className="sidebar" data-closed={isOpen ? undefined : true}>
        <AppShell.Section mb="sm" px={4} pt={4} visibleFrom="sm">
          <Group justify="space-between" wrap="nowrap">
            <Anchor component={Link} href="/" underline="never" c="inherit" aria-label="Tollgate, all projects">
              <Logo />
            </Anchor>
            {bell}
          </Group>
        </AppShell.Section>
        {switcher && <AppShell.Section mb="xs">{switcher}</AppShell.Section>}
        <AppShell.Section mb="md" mih={38}>
          <Suspense>
            <SearchButton {...account} projectId={projectId} />
          </Suspense>
        </AppShell.Section>
        <AppShell.Section grow style={{ overflowY: 'auto' }}>
          {projectId && <Navigation projectId={projectId} onGo={close} />}
        </AppShell.Section>
        <AppShell.Section>
          <AccountBar {...account} projectId={projectId} />
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="page" tabIndex={-1}>
        <Stack maw={1180} mx="auto" gap="lg">
          <OfflineBar />
          <HoldBar />
          <PageBoundary>
            <Suspense fallback={<Loading />}>{children}</Suspense>
          </PageBoundary>
        </Stack>
      </AppShell.Main>
    </AppShell>
  );
}
