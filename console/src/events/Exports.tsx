// Background exports, their progress and their files.
import { Button, Stack } from "@mantine/core";
import { IconDownload, IconFileCertificate } from "@tabler/icons-react";
import { type InfiniteData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answer, api } from "../api/client";
import { queries, useMayManage } from "../api/queries";
import { Answered, Empty } from "../parts/Answered";
import { Page } from "../parts/Page";
import { ExportJob, isUnderWay } from "./ExportJob";

/** How often to look while one is being made. */
const LOOK_EVERY_MS = 5_000;
const PAGE = 50;

function page(cursor?: string) {
  return answer(api.GET("/v1/audit/exports", { params: { query: { limit: PAGE, cursor } } }));
}

type Listed = Awaited<ReturnType<typeof page>>;

/** Looks at the first page again and again, where those are that are being made. Older pages stay as they are. */
function useNewest(isOn: boolean) {
  useQuery({
    queryKey: ["exports", "newest"],
    queryFn: async () => {
      const first = await page();
      queries.setQueryData<InfiniteData<Listed>>(
        ["exports"],
        (before) => before && { ...before, pages: [first, ...before.pages.slice(1)] },
      );
      return first;
    },
    enabled: isOn,
    refetchInterval: LOOK_EVERY_MS,
  });
}

export default function Exports() {
  return useMayManage() ? <Jobs /> : <NotAllowed />;
}

function NotAllowed() {
  return (
    <Page title="Exports" lead="Exports of your audit trail.">
      <Empty title="Only admins and owners can export" icon={<IconDownload size={26} />}>
        An export is a copy of the trail as files. Ask an admin or owner to create one. You can view every
        event on the Events page.
      </Empty>
    </Page>
  );
}

function Jobs() {
  const query = useInfiniteQuery({
    queryKey: ["exports"],
    queryFn: ({ pageParam }) => page(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });
  useNewest(query.data?.pages[0]?.data.some(isUnderWay) ?? false);
  const jobs = query.data?.pages.flatMap((page) => page.data) ?? [];
  const start = (
    <Button component={Link} to="/events" leftSection={<IconDownload size={16} />} size="xs">
      New export
    </Button>
  );
  const verify = (
    <Button
      component={Link}
      to="/verify"
      variant="default"
      leftSection={<IconFileCertificate size={16} />}
      size="xs"
    >
      Verify an export
    </Button>
  );
  return (
    <Page
      title="Exports"
      lead="Exports of your audit trail. To create one, filter events and select Export."
      actions={
        <>
          {verify}
          {start}
        </>
      }
    >
      <Answered
        query={query as never}
        isEmpty={() => jobs.length === 0}
        empty={
          <Empty title="No exports yet" icon={<IconDownload size={26} />} action={start}>
            An export is a copy of the trail as files: for an auditor, a data warehouse, or your own archive.
            Filter the events you want and select Export. Large exports run in the background and appear here.
          </Empty>
        }
      >
        {() => (
          <Stack gap="sm">
            {jobs.map((job) => (
              <ExportJob key={job.id} job={job} />
            ))}
            {query.hasNextPage && (
              <Button
                variant="default"
                onClick={() => query.fetchNextPage()}
                loading={query.isFetchingNextPage}
              >
                Show older exports
              </Button>
            )}
          </Stack>
        )}
      </Answered>
    </Page>
  );
}
