-- Merges admissions that this server has not heard of, or has lost, into the list of one caller.
--
-- KEYS[1]  the admissions, in milliseconds of this server's clock, newest first
-- ARGV     how many may be admitted in a window, the window in milliseconds, and then how many
--          milliseconds ago each admission was, the oldest first
local time = redis.call('TIME')
local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
local key, count, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])

local newest = redis.call('LINDEX', key, '0')
if newest then
  -- If the clock went back it stands still, as it does where requests are decided.
  now = math.max(now, tonumber(newest))
end
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

-- Takes off the head what is newer than the oldest that is restored. That is little as a rule, however
-- long the list is: a late admission is some milliseconds old.
local piece = 100
local newer = {}
local is_done = false
while not is_done do
  local known = redis.call('LRANGE', key, #newer, #newer + piece - 1)
  is_done = #known < piece
  for i = 1, #known do
    local at = tonumber(known[i])
    if at <= restored[1] then
      is_done = true
      break
    end
    newer[#newer + 1] = at
  end
end
if #newer > 0 then
  redis.call('LTRIM', key, #newer, -1)
end

-- Both are sorted: take the older of the two ends until neither has any left.
local merged, next_newer, next_restored = {}, #newer, 1
while next_newer >= 1 or next_restored <= #restored do
  local one, other = newer[next_newer], restored[next_restored]
  if not other or (one and one <= other) then
    merged[#merged + 1] = one
    next_newer = next_newer - 1
  else
    merged[#merged + 1] = other
    next_restored = next_restored + 1
  end
end
-- `unpack` takes some thousands at once.
for from = 1, #merged, 1000 do
  redis.call('LPUSH', key, unpack(merged, from, math.min(from + 999, #merged)))
end
-- Only the newest `count` can ever matter.
redis.call('LTRIM', key, 0, count - 1)
redis.call('PEXPIRE', key, window)
return #restored
