// A model for coding agents: it calls one tool once, and is done. It speaks as Anthropic, OpenAI and Google do, and prints a line
// for each result of a tool that it is told.
//
//   node model.mjs '{"Bash": {"command": "ls"}, "run_shell_command": {...}}'
//
// The first line that it prints is its address. Of the tools on its command line it calls the first that it is offered.
import http from 'node:http'

const calls = JSON.parse(process.argv.at(-1))
const ID = 'call_1'
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const wanted = (offered) => Object.keys(calls).find((name) => offered.includes(name))
const text = (value) => (typeof value === 'string' ? value : JSON.stringify(value))

/** What each of them asks, and what it is answered. */
const doors = {
  '/v1/messages': {
    offered: (asked) => (asked.tools ?? []).map((tool) => tool.name),
    told: (asked) =>
      asked.messages.flatMap((message) => (Array.isArray(message.content) ? message.content : []))
        .filter((part) => part.type === 'tool_result').map((part) => part.content),
    answer(asked, name) {
      const part = name
        ? { type: 'tool_use', id: ID, name, input: {} }
        : { type: 'text', text: '' }
      const delta = name
        ? { type: 'input_json_delta', partial_json: JSON.stringify(calls[name]) }
        : { type: 'text_delta', text: 'done' }
      const message = { id: 'msg_1', type: 'message', role: 'assistant', model: asked.model, content: [] }
      return events([
        { type: 'message_start', message: { ...message, usage: { input_tokens: 1, output_tokens: 1 } } },
        { type: 'content_block_start', index: 0, content_block: part },
        { type: 'content_block_delta', index: 0, delta },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: name ? 'tool_use' : 'end_turn' }, usage: { output_tokens: 1 } },
        { type: 'message_stop' },
      ])
    },
  },
  '/v1/responses': {
    offered: (asked) => (asked.tools ?? []).map((tool) => tool.name),
    told: (asked) => asked.input.filter((item) => item.type === 'function_call_output').map((item) => item.output),
    answer(_, name) {
      const item = name
        ? { type: 'function_call', id: 'item_1', call_id: ID, name, arguments: JSON.stringify(calls[name]) }
        : { type: 'message', role: 'assistant', id: 'item_1', content: [{ type: 'output_text', text: 'done' }] }
      const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
      return events([
        { type: 'response.created', response: { id: 'resp_1' } },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { id: 'resp_1', usage } },
      ])
    },
  },
  '/v1/chat/completions': {
    offered: (asked) => (asked.tools ?? []).map((tool) => tool.function.name),
    told: (asked) => asked.messages.filter((message) => message.role === 'tool').map((message) => message.content),
    answer(asked, name) {
      const call = { index: 0, id: ID, type: 'function', function: { name, arguments: JSON.stringify(calls[name]) } }
      const delta = { role: 'assistant', ...(name ? { tool_calls: [call] } : { content: 'done' }) }
      const chunk = (delta, finish_reason) => ({
        id: 'chat_1', object: 'chat.completion.chunk', created: 1, model: asked.model,
        choices: [{ index: 0, delta, finish_reason }],
      })
      return `${events([chunk(delta, null), chunk({}, name ? 'tool_calls' : 'stop')])}data: [DONE]\n\n`
    },
  },
  generateContent: {
    offered: (asked) =>
      (asked.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []).map((tool) => tool.name),
    told: (asked) =>
      asked.contents.flatMap((content) => content.parts)
        .filter((part) => part.functionResponse).map((part) => part.functionResponse.response),
    answer(asked, name) {
      // Without tools it is asked for JSON, and asked again until it is some.
      const part = name
        ? { functionCall: { name, args: calls[name] } }
        : { text: asked.tools ? 'done' : '{}' }
      return events([{
        candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      }])
    },
  },
}

/** As server-sent events. */
function events(items) {
  return items.map((item) => `${item.type ? `event: ${item.type}\n` : ''}data: ${JSON.stringify(item)}\n\n`).join('')
}

function answered(path, body) {
  const name = path.toLowerCase().includes('generatecontent') ? 'generateContent' : path
  const door = doors[name]
  if (!door) return ['application/json', '{}']
  const asked = JSON.parse(body)
  const told = door.told(asked)
  for (const result of told) say({ told: text(result) })
  const answer = door.answer(asked, told.length > 0 ? undefined : wanted(door.offered(asked)))
  // Google's has a way without events, which is the event alone.
  if (name === 'generateContent' && !path.includes('stream')) return ['application/json', answer.slice('data: '.length)]
  return ['text/event-stream', answer]
}

const server = http.createServer((request, response) => {
  const pieces = []
  request.on('data', (piece) => pieces.push(piece))
  request.on('end', () => {
    const path = request.url.split('?')[0]
    const [kind, answer] = answered(path, Buffer.concat(pieces).toString())
    response.writeHead(200, { 'content-type': kind })
    response.end(answer)
  })
})
server.listen(0, '127.0.0.1', () => say({ url: `http://127.0.0.1:${server.address().port}` }))
