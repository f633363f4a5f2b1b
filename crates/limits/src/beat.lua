-- Says that a node lives, counts those that do, and names the life of this server's data.
--
-- KEYS[1]  when each node was last heard of, in milliseconds of this server's clock
-- KEYS[2]  the epoch: a name that lives and is lost together with the data
-- ARGV     this node, the epoch's name if it has none, after how many milliseconds a node is gone
-- Returns  the epoch and the number of nodes
local time = redis.call('TIME')
local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3])
redis.call('SET', KEYS[2], ARGV[2], 'NX')
return {redis.call('GET', KEYS[2]), redis.call('ZCARD', KEYS[1])}
