-- Says that a node lives, counts those that do, and names the life of this server's data.
--
-- KEYS[1]  when each node was last heard of, in milliseconds of this server's clock
-- KEYS[2]  the run of this server and the epoch of its data: the epoch ends with either of them
-- ARGV     this node, the epoch's name if it has none, after how many milliseconds a node is gone
-- Returns  the epoch and the number of nodes
local time = redis.call('TIME')
local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3])
-- A server that starts from a snapshot has forgotten what came after it, and has another run id.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
if not run then
  return redis.error_reply('ERR this server does not tell its run_id')
end
local epoch = redis.call('GET', KEYS[2])
if not epoch or string.sub(epoch, 1, #run + 1) ~= run .. ':' then
  epoch = run .. ':' .. ARGV[2]
  redis.call('SET', KEYS[2], epoch)
end
return {string.sub(epoch, #run + 2), redis.call('ZCARD', KEYS[1])}
