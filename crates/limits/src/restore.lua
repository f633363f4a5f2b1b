-- Merges admissions that this server has not heard of, or has lost, into the list of one caller.
--
-- KEYS[1]  the admissions, in milliseconds of this server's clock, newest first
-- ARGV     how many may be admitted in a window, the window in milliseconds, and then how many
--          milliseconds ago each admission was, the oldest first
local time = redis.call('TIME')
local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
local key, count, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])

local restored = {}
for i = 3, #ARGV do
  local age = tonumber(ARGV[i])
  if age < window then
    restored[#restored + 1] = now - age
  end
end
if #restored == 0 then
  return 0
end

local newest = tonumber(redis.call('LINDEX', key, 0) or 0)
if restored[1] >= newest then
  redis.call('LPUSH', key, unpack(restored))
else
  -- Both are sorted: take the newer of the two ends until neither has any left.
  local known = redis.call('LRANGE', key, 0, -1)
  local merged, next_known, next_restored = {}, 1, #restored
  while next_known <= #known or next_restored >= 1 do
    local one, other = tonumber(known[next_known] or -1), restored[next_restored] or -1
    if one >= other then
      merged[#merged + 1] = one
      next_known = next_known + 1
    else
      merged[#merged + 1] = other
      next_restored = next_restored - 1
    end
  end
  redis.call('DEL', key)
  for from = 1, #merged, 1000 do
    redis.call('RPUSH', key, unpack(merged, from, math.min(from + 999, #merged)))
  end
end
-- Only the newest `count` can ever matter.
redis.call('LTRIM', key, 0, count - 1)
redis.call('PEXPIRE', key, window)
return #restored
