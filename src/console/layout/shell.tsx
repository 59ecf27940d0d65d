import { Anchor, AppShell, Burger, Group, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type ReactNode, Suspense } from 'react';
import { useQuery } from 'urql';
import { Link, Route, Switch } from 'wouter';
import { CurrentProjectDocument } from '../../generated/console/projects.ts';
import { toProblem } from '../api/problem.ts';
import { ProjectsPage } from '../pages/projects/projects.tsx';
import { PAGE_ROUTES } from '../pages/routes.tsx';
import { CurrentProjectContext } from '../parts/current-project.tsx';
import { lazyPart } from '../parts/lazy-part.ts';
import { Loading } from '../parts/loading.tsx';
import { Logo } from '../parts/logo.tsx';
import { ProblemNotice } from '../parts/problem-notice.tsx';
import { AccountBar } from './account-bar.tsx';
import { Navigation } from './navigation.tsx';
import { NotFound } from './not-found.tsx';
import { NoticeBell, useUnreadNotices } from './notice-bell.tsx';
import { PageBoundary } from './page-boundary.tsx';
import { ProjectSwitcher } from './project-switcher.tsx';

const ConnectPage = lazyPart(() => import('../pages/connectors/connect-page.tsx'), 'ConnectPage');

type Account = { subject: string; onSignOut(): void };

/** Everything around a page once a user is signed in. */
export function Shell(account: Account) {
  return (
    <Switch>
      <Route path="/">
        <Frame account={account}>
          <ProjectsPage />
        </Frame>
      </Route>
      <Route path="/connect">
        <Frame account={account}>
          <ConnectPage />
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
  const unread = useUnreadNotices(projectId);
  return (
    <Frame
      account={account}
      projectId={projectId}
      switcher={<ProjectSwitcher project={project} />}
      bell={<NoticeBell projectId={projectId} unread={unread} />}
    >
      {error && <ProblemNotice problem={toProblem(error)} onRetry={reload} />}
      {!project && fetching && <Loading />}
      {!project && !fetching && !error && <NotFound what="Project" />}
      {project && (
        <CurrentProjectContext value={project}>
          <Switch>
            {PAGE_ROUTES.map(({ path, page: RoutePage }) => (
              <Route key={path} path={`/projects/:projectId${path}`}>
                <RoutePage />
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
      padding={{ base: 'md', sm: 'xl' }}
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
      <AppShell.Navbar p="sm" className="sidebar">
        <AppShell.Section mb="sm" px={4} pt={4} visibleFrom="sm">
          <Group justify="space-between" wrap="nowrap">
            <Anchor component={Link} href="/" underline="never" c="inherit" aria-label="Tollgate, all projects">
              <Logo />
            </Anchor>
            {bell}
          </Group>
        </AppShell.Section>
        {switcher && <AppShell.Section mb="md">{switcher}</AppShell.Section>}
        <AppShell.Section grow style={{ overflowY: 'auto' }}>
          {projectId && <Navigation projectId={projectId} onGo={close} />}
        </AppShell.Section>
        <AppShell.Section>
          <AccountBar {...account} />
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="page" tabIndex={-1}>
        <Stack maw={1180} mx="auto" gap="lg">
          <PageBoundary>
            <Suspense fallback={<Loading />}>{children}</Suspense>
          </PageBoundary>
        </Stack>
      </AppShell.Main>
    </AppShell>
  );
}
