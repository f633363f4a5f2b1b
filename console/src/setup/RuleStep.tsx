// Step 4: a rule for events like the one that arrived.
import { Anchor, Group, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answer, api, type Body } from "../api/client";
import { about, useMayManage } from "../api/queries";
import { Answered } from "../parts/Answered";
import { Id } from "../parts/Copy";
import { Form } from "../parts/Form";
import { Json } from "../parts/Json";
import { Step } from "./Step";
import type { TrailEvent } from "./trail";

interface RuleStepProps {
  event: TrailEvent | undefined;
  rule: Body<"Rule"> | undefined;
  onMade: (rule: Body<"Rule">) => void;
}

export function RuleStep({ event, rule, onMade }: RuleStepProps) {
  return (
    <Step
      number={4}
      title="Create a rule from this event"
      lead="A rule defines which events trigger an alert. Each match is sent to your URL as a signed webhook."
      isDone={rule !== undefined}
      isOpen={event !== undefined || rule !== undefined}
    >
      {rule === undefined ? event && <NewRule event={event} onMade={onMade} /> : <Made rule={rule} />}
    </Step>
  );
}

function NewRule({ event, onMade }: { event: TrailEvent; onMade: (rule: Body<"Rule">) => void }) {
  const server = useQuery(about);
  const mayManage = useMayManage();
  const suggestion = useQuery({
    enabled: mayManage,
    queryKey: ["setup", "suggestion", event.id],
    queryFn: () => answer(api.POST("/v1/alert-rules/suggest", { body: { event: event as never } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const receiver = server.data?.receiver_url ?? null;
  if (!mayManage) {
    return (
      <Text size="sm" className="quiet">
        Only admins and owners can create rules. Ask one of them.
      </Text>
    );
  }
  // The form begins with what the server says, so it waits for that.
  if (server.isPending) return null;
  return (
    <Answered query={suggestion}>
      {(suggested) => <RuleForm key={event.id} {...{ suggested, receiver, onMade }} />}
    </Answered>
  );
}

interface RuleFormProps {
  suggested: Body<"RuleSuggested">;
  receiver: string | null;
  onMade: (rule: Body<"Rule">) => void;
}

function RuleForm({ suggested, receiver, onMade }: RuleFormProps) {
  const form = useForm({
    initialValues: { name: suggested.name, url: receiver ?? "" },
    validate: {
      name: (name: string) => (name.trim() === "" ? "Enter a name." : null),
      url: (url: string) =>
        URL.canParse(url) ? null : "Enter the URL of a receiver, starting with https://.",
    },
  });
  return (
    <Form
      form={form}
      send={(values) => {
        const body = { ...values, match: suggested.match } as Body<"NewRule">;
        return answer(api.POST("/v1/alert-rules", { body: body as never }));
      }}
      done={onMade}
      action="Save rule"
    >
      <div>
        <Text size="sm" fw={600} mb={4}>
          Conditions
        </Text>
        <Json value={suggested.match} />
      </div>
      <TextInput label="Name" required maw={480} {...form.getInputProps("name")} />
      <TextInput
        label="Webhook URL"
        description={
          receiver === null
            ? "The URL of your receiver. The next step shows how to verify the signature."
            : "This is a built-in test receiver: it verifies each signature as your own receiver should. Enter your own URL here later."
        }
        type="url"
        required
        maw={640}
        {...form.getInputProps("url")}
      />
    </Form>
  );
}

function Made({ rule }: { rule: Body<"Rule"> }) {
  return (
    <Group gap="xs">
      <Anchor component={Link} to={`/rules/${rule.id}`} size="sm" fw={600}>
        {rule.name}
      </Anchor>
      <Text size="sm" className="quiet truncate">
        to {rule.url}
      </Text>
      <Id id={rule.id} />
    </Group>
  );
}
