//! Who is at work in the demo: five teams of agents, and what each does all day.

/// Agents that do the same kind of work.
pub(super) struct Team {
    pub(super) name: &'static str,
    pub(super) agents: &'static [&'static str],
    pub(super) tools: &'static [Tool],
    /// Whether the incident hits it.
    pub(super) is_hit: bool,
}

/// Something that an agent calls.
#[derive(Clone, Copy)]
pub(super) struct Tool {
    pub(super) action: &'static str,
    /// The type of what it is about.
    pub(super) about: &'static str,
    /// Whether money is moved, in cents up to this; 0: none.
    pub(super) cents_max: u64,
    /// How many calls in a thousand a policy denies.
    pub(super) denied: u64,
}

const fn tool(action: &'static str, about: &'static str, denied: u64) -> Tool {
    Tool {
        action,
        about,
        cents_max: 0,
        denied,
    }
}

const fn payment(action: &'static str, cents_max: u64, denied: u64) -> Tool {
    Tool {
        action,
        about: "invoice",
        cents_max,
        denied,
    }
}

pub(super) static TEAMS: [Team; 5] = [
    Team {
        name: "billing",
        agents: &[
            "billing-agent",
            "refund-agent",
            "invoice-reader",
            "dunning-agent",
            "payout-planner",
        ],
        tools: &[
            payment("payments.refund", 90_000, 45),
            payment("payments.capture", 250_000, 12),
            payment("payouts.schedule", 900_000, 60),
            tool("invoices.read", "invoice", 0),
            tool("invoices.remind", "invoice", 4),
        ],
        is_hit: true,
    },
    Team {
        name: "support",
        agents: &[
            "support-triage",
            "support-reply",
            "support-escalations",
            "faq-writer",
            "sentiment-reader",
            "voice-agent",
        ],
        tools: &[
            tool("tickets.read", "ticket", 0),
            tool("tickets.update", "ticket", 3),
            tool("tickets.close", "ticket", 8),
            tool("customers.read", "customer", 10),
            tool("search.docs", "article", 0),
        ],
        is_hit: false,
    },
    Team {
        name: "platform",
        agents: &[
            "deploy-bot",
            "incident-scribe",
            "log-reader",
            "cost-watcher",
            "patch-agent",
        ],
        tools: &[
            tool("deployments.create", "service", 35),
            tool("deployments.rollback", "service", 15),
            tool("tools.shell", "host", 70),
            tool("logs.query", "service", 0),
            tool("secrets.read", "secret", 180),
        ],
        is_hit: true,
    },
    Team {
        name: "data",
        agents: &[
            "report-writer",
            "sql-analyst",
            "etl-guard",
            "forecast-agent",
            "data-steward",
        ],
        tools: &[
            tool("database.read", "table", 6),
            tool("database.write", "table", 30),
            tool("database.delete", "table", 220),
            tool("files.write", "file", 12),
            tool("reports.publish", "report", 5),
        ],
        is_hit: false,
    },
    Team {
        name: "sales",
        agents: &["lead-finder", "outreach-agent", "quote-agent", "crm-sync"],
        tools: &[
            tool("crm.read", "account", 0),
            tool("crm.update", "account", 7),
            tool("quotes.create", "quote", 14),
            tool("web.fetch", "page", 25),
            tool("calendar.book", "meeting", 2),
        ],
        is_hit: false,
    },
];

pub(super) const REGIONS: [&str; 4] = ["eu-central-1", "eu-west-1", "us-east-1", "ap-south-1"];
pub(super) const MODELS: [&str; 3] = ["large-2026-05", "medium-2026-05", "small-2026-02"];
pub(super) const CHANNELS: [&str; 3] = ["email", "chat", "slack"];
/// What goes wrong on any day.
pub(super) const USUAL_ERRORS: [&str; 4] = [
    "RATE_LIMITED",
    "NOT_FOUND",
    "INVALID_ARGUMENT",
    "UPSTREAM_TIMEOUT",
];
